#include "cohort/view/view_server.h"

#include <unistd.h>

#include "cohort/core/error.h"
#include "cohort/http/access.h"
#include "cohort/http/http_server.h"
#include "cohort/view/view_handler.h"
#include "libs/common/ascii.h"

namespace cohort {

class ViewServer::Impl {
 public:
  Impl(const std::vector<std::filesystem::path>& runs, const ViewOptions& options)
      : host_(checked(options).host == "localhost" ? "127.0.0.1" : options.host),
        token_(options.token),
        handler_(runs, host_, token_, options.replay),
        server_(host_, options.port, {.max_connections = 256},
                [this](const IncomingRequest& request, const auto& answer) {
                  handler_.handle(request, answer);
                }) {
    server_.repeat(1.0, [this] { handler_.follow(); });
  }

  ~Impl() {
    server_.stop();
    handler_.close();
  }

  std::string address() const {
    const bool is_any = host_ == "0.0.0.0" || host_ == "::";
    const std::string name = is_any ? own_name() : host_;
    const std::string host = name.find(':') != std::string::npos ? "[" + name + "]" : name;
    return str("http://", host, ":", server_.port(), "/", token_.empty() ? "" : "?token=" + token_);
  }

 private:
  static ViewOptions checked(ViewOptions options) {
    if (!is_loopback(options.host) && options.token.empty())
      throw ConfigError(
          str("host ", options.host, " lets other machines in: give a token, or take the host 127.0.0.1"));
    for (const char c : options.token) {
      if (!is_letter(c) && !is_digit(c) && c != '-' && c != '_')
        throw ConfigError(
            "the token may only have letters, digits, - and _: it is a part of the page's address");
    }
    return options;
  }

  /// What other machines call this one.
  static std::string own_name() {
    char name[256] = "";
    return gethostname(name, sizeof name - 1) == 0 && name[0] != '\0' ? name : "localhost";
  }

  std::string host_, token_;
  ViewHandler handler_;
  HttpServer server_;  // last: its thread uses the others
};

ViewServer::ViewServer(const std::vector<std::filesystem::path>& runs, const ViewOptions& options)
    : impl_(std::make_unique<Impl>(runs, options)) {}

ViewServer::~ViewServer() = default;

std::string ViewServer::address() const { return impl_->address(); }

}  // namespace cohort
