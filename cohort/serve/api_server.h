// The HTTP interface of a model: OpenAI's and Anthropic's endpoints.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "cohort/http/http_server.h"
#include "cohort/serve/api/served_model.h"

namespace cohort {

/// Counts of a server's work.
struct ServerCounts {
  std::atomic<int64_t> num_requests = 0;
  std::atomic<int64_t> num_running = 0;
  std::atomic<int64_t> prompt_tokens = 0;
  std::atomic<int64_t> completion_tokens = 0;
};

/// A request for completions, read, with what its answer needs.
struct ApiCall {
  ApiRequest request;
  std::string path;  ///< that was asked: it decides how errors are written
  std::string key;   ///< the API key that the client sent; empty if it sent none
  std::shared_ptr<HttpAnswer> answer;
  int64_t number;  ///< different for each call
};

class ApiServer {
 public:
  /// May throw UserError, which the client gets as an error.
  using Generate = std::function<void(ApiCall call)>;

  /// Further paths: false for one that it does not know. May throw UserError likewise.
  using Route =
      std::function<bool(const IncomingRequest& request, const std::shared_ptr<HttpAnswer>& answer)>;

  /// `model` and `counts` must outlive this. `api_key`: what clients must send, empty if anything will do.
  ApiServer(const ServedModel& model, ServerCounts& counts, std::string api_key, Generate generate,
            Route more = {})
      : model_(model),
        counts_(counts),
        api_key_(std::move(api_key)),
        generate_(std::move(generate)),
        more_(std::move(more)) {}

  /// The handler of an HttpServer.
  void handle(const IncomingRequest& request, const std::shared_ptr<HttpAnswer>& answer);

 private:
  void route(const IncomingRequest& request, const std::shared_ptr<HttpAnswer>& answer);
  void check_key(const IncomingRequest& request) const;
  Json model_card() const;
  Json tokenized(const Json& json) const;
  std::string metrics() const;

  const ServedModel& model_;
  ServerCounts& counts_;
  std::string api_key_;
  Generate generate_;
  Route more_;
  std::atomic<int64_t> next_number_ = 1;
};

/// The key of "Authorization: Bearer KEY" or "x-api-key: KEY"; empty if there is none.
std::string api_key_of(const IncomingRequest& request);

/// The JSON of a body. Throws ApiError.
Json parse_body(const std::string& body);

}  // namespace cohort
