// On libcurl rather than on cpp-httplib, which bounds each read but not the whole exchange (a server that
// sends a byte a second holds it for ever), hides whether it sent a request twice, and reads chunked replies
// without a limit.
#include "cohort/rewards/http/http_client.h"

#include <curl/curl.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "cohort/core/error.h"

namespace cohort {
namespace {

constexpr size_t kMaxBodyBytes = size_t{4} << 20;
constexpr size_t kMaxHeaderBytes = size_t{1} << 16;
constexpr int64_t kMaxConnectMs = 10000;
/// Servers close idle connections, many after 5 seconds. A request that crosses the closing is lost.
constexpr long kMaxIdleS = 4;

struct CloseHandle {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
using Handle = std::unique_ptr<CURL, CloseHandle>;

struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, FreeList>;

struct CloseUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};

/// A part of an address; empty where it has none.
std::string url_part(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, 0) != CURLUE_OK || text == nullptr) return "";
  std::string result = text;
  curl_free(text);
  return result;
}

std::string host_of(const std::string& url) {
  const std::unique_ptr<CURLU, CloseUrl> parsed(curl_url());
  if (curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) return "";
  return url_part(parsed.get(), CURLUPART_HOST);
}

bool is_this_machine(const std::string& host) {
  return host == "localhost" || host == "[::1]" || host.starts_with("127.") || host.ends_with(".localhost");
}

/// What the callbacks of one transfer fill.
struct Transfer {
  std::string body;
  size_t num_header_bytes = 0;
  int num_requests = 0;
  bool is_too_large = false;
};

size_t take_body(char* bytes, size_t, size_t size, void* target) {
  auto& transfer = *static_cast<Transfer*>(target);
  transfer.is_too_large = transfer.body.size() + size > kMaxBodyBytes;
  if (transfer.is_too_large) return 0;
  transfer.body.append(bytes, size);
  return size;
}

size_t take_header(char*, size_t, size_t size, void* target) {
  auto& transfer = *static_cast<Transfer*>(target);
  transfer.num_header_bytes += size;
  transfer.is_too_large = transfer.num_header_bytes > kMaxHeaderBytes;
  return transfer.is_too_large ? 0 : size;
}

/// A kept connection that breaks makes libcurl send the request once more on a new one; attempts are counted
/// elsewhere.
int allow_one_request(void* target, char*, char*, int, int) {
  auto& transfer = *static_cast<Transfer*>(target);
  return ++transfer.num_requests == 1 ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

template <typename Value>
void set(CURL* handle, CURLoption option, Value value) {
  const CURLcode code = curl_easy_setopt(handle, option, value);
  COHORT_CHECK(code == CURLE_OK, "libcurl refuses option ", static_cast<int>(option), ": ",
               curl_easy_strerror(code));
}

HeaderList header_list(const std::vector<std::string>& headers) {
  HeaderList list;
  const auto add = [&](const char* header) {
    curl_slist* const all = list.release();
    curl_slist* const longer = curl_slist_append(all, header);
    list.reset(longer != nullptr ? longer : all);
    COHORT_CHECK(longer != nullptr, "no memory for headers");
  };
  for (const std::string& header : headers) add(header.c_str());
  add("Expect:");  // large bodies leave at once, without asking first
  return list;
}

void set_options(CURL* handle, const HttpRequest& request, int64_t timeout_ms) {
  set(handle, CURLOPT_URL, request.url.c_str());
  set(handle, CURLOPT_USERAGENT, "cohort");
  set(handle, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(handle, CURLOPT_FOLLOWLOCATION, 0L);
  set(handle, CURLOPT_NOSIGNAL, 1L);
  set(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(timeout_ms));
  set(handle, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(std::min(timeout_ms, kMaxConnectMs)));
  // Without it a look-up of a name that hangs is waited for beyond the time given.
  set(handle, CURLOPT_QUICK_EXIT, 1L);
  set(handle, CURLOPT_MAXAGE_CONN, kMaxIdleS);
  if (is_this_machine(host_of(request.url))) set(handle, CURLOPT_NOPROXY, "*");
  if (const char* file = std::getenv("SSL_CERT_FILE"); file != nullptr && *file != '\0')
    set(handle, CURLOPT_CAINFO, file);
}

void set_body(CURL* handle, const std::string& body) {
  set(handle, CURLOPT_POSTFIELDS, body.data());
  set(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
}

void set_callbacks(CURL* handle, Transfer& transfer) {
  set(handle, CURLOPT_WRITEFUNCTION, take_body);
  set(handle, CURLOPT_WRITEDATA, &transfer);
  set(handle, CURLOPT_HEADERFUNCTION, take_header);
  set(handle, CURLOPT_HEADERDATA, &transfer);
  set(handle, CURLOPT_PREREQFUNCTION, allow_one_request);
  set(handle, CURLOPT_PREREQDATA, &transfer);
}

/// A write to a connection that is gone may raise SIGPIPE, which would end the program: libcurl leaves
/// signals alone where there are threads.
class HoldSigpipe {
 public:
  HoldSigpipe() {
    sigemptyset(&sigpipe_);
    sigaddset(&sigpipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &sigpipe_, &previous_);
  }
  ~HoldSigpipe() {
    const timespec no_wait{};
    if (!was_pending_) sigtimedwait(&sigpipe_, nullptr, &no_wait);
    pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
  }

 private:
  sigset_t sigpipe_;
  sigset_t previous_;
  bool was_pending_;
};

HttpReply::Outcome outcome_of(CURLcode code) {
  switch (code) {
    case CURLE_OK:
      return HttpReply::Outcome::kReply;
    case CURLE_OPERATION_TIMEDOUT:
      return HttpReply::Outcome::kTimeout;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_URL_MALFORMAT:
      return HttpReply::Outcome::kRefused;
    default:
      return HttpReply::Outcome::kBroken;
  }
}

void read_info(CURL* handle, HttpReply& reply) {
  long status = 0;
  curl_off_t retry_after_s = 0;
  char* location = nullptr;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(handle, CURLINFO_RETRY_AFTER, &retry_after_s);
  curl_easy_getinfo(handle, CURLINFO_REDIRECT_URL, &location);
  reply.status = status;
  constexpr curl_off_t kDay = 86400;
  if (retry_after_s > 0) reply.retry_after = std::chrono::seconds(std::min(retry_after_s, kDay));
  if (location != nullptr) reply.location = location;
}

}  // namespace

/// Handles wait here between calls, each with its connections.
class HttpClient::Handles {
 public:
  Handle take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        Handle handle = std::move(idle_.back());
        idle_.pop_back();
        return handle;
      }
    }
    Handle handle(curl_easy_init());
    COHORT_CHECK(handle != nullptr, "libcurl gives no handle");
    return handle;
  }

  void put(Handle handle) {
    curl_easy_reset(handle.get());
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(handle));
  }

 private:
  std::mutex mutex_;
  std::vector<Handle> idle_;
};

HttpClient::HttpClient() {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  COHORT_CHECK(started == CURLE_OK, "libcurl: ", curl_easy_strerror(started));
  handles_ = std::make_unique<Handles>();
}

HttpClient::~HttpClient() = default;

HttpReply HttpClient::post(const HttpRequest& request, Clock::Duration timeout) {
  return exchange(request, /*is_post=*/true, timeout);
}

HttpReply HttpClient::get(const HttpRequest& request, Clock::Duration timeout) {
  return exchange(request, /*is_post=*/false, timeout);
}

HttpReply HttpClient::exchange(const HttpRequest& request, bool is_post, Clock::Duration timeout) {
  const HoldSigpipe guard;
  const HeaderList headers = header_list(request.headers);
  const int64_t timeout_ms = std::chrono::ceil<std::chrono::milliseconds>(timeout).count();
  Transfer transfer;
  char error[CURL_ERROR_SIZE] = "";
  Handle handle = handles_->take();  // last: it points to all of them
  set_options(handle.get(), request, std::max<int64_t>(timeout_ms, 1));
  if (is_post) set_body(handle.get(), request.body);
  set_callbacks(handle.get(), transfer);
  set(handle.get(), CURLOPT_HTTPHEADER, headers.get());
  set(handle.get(), CURLOPT_ERRORBUFFER, error);
  const CURLcode code = curl_easy_perform(handle.get());

  HttpReply reply;
  reply.outcome = transfer.is_too_large ? HttpReply::Outcome::kRefused : outcome_of(code);
  if (reply.outcome == HttpReply::Outcome::kReply) {
    read_info(handle.get(), reply);
    reply.body = std::move(transfer.body);
  } else if (transfer.is_too_large) {
    reply.reason = "the reply is larger than 4 MiB, or its headers than 64 KiB";
  } else if (code == CURLE_ABORTED_BY_CALLBACK) {
    reply.reason = "the server closed the connection without a reply";
  } else {
    reply.reason = *error != '\0' ? error : curl_easy_strerror(code);
  }
  handles_->put(std::move(handle));
  return reply;
}

void check_http_url(const std::string& url, const std::string& where) {
  const std::unique_ptr<CURLU, CloseUrl> parsed(curl_url());
  const CURLUcode code = curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0);
  const std::string scheme = code == CURLUE_OK ? url_part(parsed.get(), CURLUPART_SCHEME) : "";
  if ((scheme != "http" && scheme != "https") || url_part(parsed.get(), CURLUPART_HOST).empty()) {
    throw ConfigError(str(where, "`url` must be an address such as http://127.0.0.1:8000/score"));
  }
  if (!url_part(parsed.get(), CURLUPART_USER).empty() ||
      !url_part(parsed.get(), CURLUPART_PASSWORD).empty()) {
    throw ConfigError(str(where,
                          "`url` must not hold a user's name or password, which would be written into run "
                          "directories; name an environment variable with a key in `api_key_env`"));
  }
}

}  // namespace cohort
