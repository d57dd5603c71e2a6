// One POST or GET over HTTP or HTTPS: bounded in time and in size, and to no other address than the one
// given.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cohort/rewards/http/clock.h"

namespace cohort {

struct HttpRequest {
  std::string url;
  std::vector<std::string> headers;  ///< "Name: value"
  std::string body;
};

struct HttpReply {
  enum class Outcome {
    kReply,    ///< a whole reply, of any status
    kTimeout,  ///< none within the time given
    kBroken,   ///< no connection, or one that broke off; another attempt may do
    kRefused,  ///< what no further attempt mends: too large a reply, a certificate that is not trusted
  };

  Outcome outcome = Outcome::kBroken;
  std::string reason;  ///< in words, unless there is a whole reply
  int64_t status = 0;
  std::string body;
  std::optional<Clock::Duration> retry_after;  ///< what the header of that name asks for
  std::string location;                        ///< where a redirect leads
};

/// What sends a request once. Any thread may call.
class HttpTransport {
 public:
  virtual ~HttpTransport() = default;
  virtual HttpReply post(const HttpRequest& request, Clock::Duration timeout) = 0;
};

/// Keeps connections alive between calls, one for each that runs at a time. `timeout` bounds everything, from
/// the look-up of the name to the last byte. Redirects are not followed: their targets are the server's
/// choice, and may lie inside of the network that we run in. Replies of more than 4 MiB are refused.
/// SSL_CERT_FILE names the authorities that are trusted, the system's when unset; http_proxy, https_proxy and
/// no_proxy count except for this machine.
class HttpClient : public HttpTransport {
 public:
  HttpClient();
  ~HttpClient() override;
  HttpReply post(const HttpRequest& request, Clock::Duration timeout) override;

  /// A GET; `request` has no body.
  HttpReply get(const HttpRequest& request, Clock::Duration timeout);

 private:
  class Handles;

  HttpReply exchange(const HttpRequest& request, bool is_post, Clock::Duration timeout);

  std::unique_ptr<Handles> handles_;
};

/// Throws ConfigError, beginning with `where`, for what is no http:// or https:// address with a host, and
/// for one that holds a user's name or password: addresses are written into run directories.
void check_http_url(const std::string& url, const std::string& where);

}  // namespace cohort
