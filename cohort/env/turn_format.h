// Between the tokens of a conversation and its messages, by the model's chat template.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cohort/sampler/turn_handler.h"
#include "cohort/tasks/row_text.h"
#include "cohort/text/tokenizer.h"
#include "cohort/text/tool_calls/format.h"

namespace cohort {

/// Immutable; any number of threads may use one object.
class TurnFormat {
 public:
  /// `tokenizer` must outlive this. `stop_ids` end a turn. Throws TemplateError if the template cannot put a
  /// reply after a turn.
  TurnFormat(TextFormat format, const Tokenizer& tokenizer, const ToolCallFormat& calls, Json tools,
             std::vector<int32_t> stop_ids);

  /// Reads the tokens of one turn. A stop token at their end is left out.
  AssistantMessage read(std::span<const int32_t> ids) const;

  /// Whether each call begins with a mark of its own, which first_call() needs.
  bool marks_calls() const;

  /// The first call in the tokens of a turn, after its reasoning, in places of `ids`; nothing without one.
  std::optional<CallPlace> first_call(std::span<const int32_t> ids) const;

  /// The same tokens as text, without special tokens.
  std::string text(std::span<const int32_t> ids) const;

  /// The tokens that lead from the end of a turn over the messages of a reply to the policy's next turn. They
  /// depend on the turn only by the names and ids of its calls and by `last_id`, its last token: what the
  /// policy sampled is never rendered again. Special tokens within the messages are made harmless. Throws
  /// TemplateError if the template renders the turn otherwise when these messages follow.
  std::vector<int32_t> reply_ids(const AssistantMessage& turn, int32_t last_id, const Json& messages) const;

  /// Whether the template renders a turn of the policy, its reasoning included, the same when the
  /// conversation goes on. Episodes keep every turn as it was sampled in any case; whoever renders the
  /// conversation afresh shows the model something else.
  bool keeps_turns() const;

  /// Whether the template writes the tools into prompts; true if there are none.
  bool shows_tools() const;

  /// The tokens of a prompt whose last message goes on with `observation`.
  std::vector<int32_t> opened_prompt(const Prompt& prompt, const std::string& observation) const;

  const Json& tools() const { return tools_; }

 private:
  std::string render(const Json& messages, bool add_generation_prompt) const {
    return render(messages, add_generation_prompt, tools_);
  }
  std::string render(const Json& messages, bool add_generation_prompt, const Json& tools) const;
  std::pair<AssistantMessage, Json> example() const;
  std::string reply_text(const Json& turn, int32_t last_id, const Json& reply) const;
  bool is_stop(int32_t id) const;
  size_t end_of_turn(const std::string& turn, const std::string& whole, int32_t last_id,
                     std::string& stop_text) const;

  TextFormat format_;
  const Tokenizer& tokenizer_;
  const ToolCallFormat& calls_;
  Json tools_;
  std::vector<int32_t> stop_ids_;
};

}  // namespace cohort
