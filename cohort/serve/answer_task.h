// One request of a server while its completions are drawn.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "cohort/serve/api/message_stream.h"
#include "cohort/serve/api/served_model.h"
#include "cohort/serve/api_server.h"
#include "cohort/serve/model_service.h"
#include "cohort/text/text_stream.h"

namespace cohort {

/// Draws the choices of a request and writes their answer, whole or as a stream. If the client goes, nothing
/// more is drawn. The callbacks of its requests keep it alive.
class AnswerTask : public std::enable_shared_from_this<AnswerTask> {
 public:
  /// The first three must outlive this.
  AnswerTask(ModelService& service, const ServedModel& model, ServerCounts& counts, ApiCall call);
  ~AnswerTask();

  /// Adds the requests to the engine. Throws UserError if it refuses one; then nothing is drawn.
  void start();

 private:
  struct Drawing {
    Choice choice{};
    std::optional<TextStream> text{};
    std::optional<MessageStream> message{};
  };

  void guarded(const std::function<void()>& work);
  bool take_token(size_t place, const SampledToken& token);
  void take_end(size_t place, const Completion& completion);
  void write(const std::string& events);
  void write_text(size_t place, const std::string& text, const SampledToken* token);
  void read_turn(size_t place);
  void finish_one();
  void finish();
  void cancel();

  ModelService& service_;
  const ServedModel& model_;
  ServerCounts& counts_;
  ApiRequest request_;
  std::string path_;
  std::shared_ptr<HttpAnswer> answer_;
  int64_t number_;
  std::vector<Drawing> drawings_;
  std::vector<std::atomic<RequestId>> ids_;               // of the engine's requests; -1: not added
  bool has_begun_ = false;                                // the stream
  std::vector<std::vector<SampledToken>> prompt_tokens_;  // per prompt, with their log-probabilities
  size_t num_left_ = 0;                                   // choices and prompts to score
  std::atomic<bool> is_over_ = false;
};

}  // namespace cohort
