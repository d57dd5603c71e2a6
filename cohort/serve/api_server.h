// The HTTP interface of a model: OpenAI's and Anthropic's endpoints.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "cohort/serve/answer_task.h"
#include "cohort/serve/api/served_model.h"
#include "cohort/serve/http/http_server.h"
#include "cohort/serve/model_service.h"

namespace cohort {

class ApiServer {
 public:
  /// `service` and `model` must outlive this. `api_key`: what clients must send, empty if nothing.
  ApiServer(ModelService& service, const ServedModel& model, std::string api_key)
      : service_(service), model_(model), api_key_(std::move(api_key)) {}

  /// The handler of an HttpServer.
  void handle(const IncomingRequest& request, const std::shared_ptr<HttpAnswer>& answer);

 private:
  void route(const IncomingRequest& request, const std::shared_ptr<HttpAnswer>& answer);
  void generate(ReadApiRequest read, const IncomingRequest& request,
                const std::shared_ptr<HttpAnswer>& answer);
  void check_key(const IncomingRequest& request) const;
  Json model_card() const;
  Json tokenized(const Json& json) const;
  std::string metrics() const;

  ModelService& service_;
  const ServedModel& model_;
  std::string api_key_;
  ServerCounts counts_;
  std::atomic<int64_t> next_number_ = 1;
};

}  // namespace cohort
