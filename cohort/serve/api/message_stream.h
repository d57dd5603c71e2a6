// The reasoning and the content of a turn while its text is drawn.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cohort/text/tool_calls/format.h"

namespace cohort {

/// Keeps back what may turn out to be a mark of reasoning or the beginning of a call. `format` must outlive
/// this.
class MessageStream {
 public:
  struct Part {
    std::string text;
    bool is_reasoning;
  };

  /// `has_tools`: a text from the first mark of a call on is kept back.
  /// `opens_reasoning`: the turn begins within its reasoning.
  MessageStream(const ToolCallFormat& format, bool has_tools, bool opens_reasoning)
      : format_(format),
        has_tools_(has_tools),
        has_reasoning_(opens_reasoning),
        phase_(opens_reasoning ? Phase::kReasoning : Phase::kStart) {
    if (format.reasoning_open.empty()) phase_ = Phase::kContent;
  }

  std::vector<Part> push(std::string_view text);

  /// What the whole turn, read, has beyond the parts so far.
  std::vector<Part> finish(const AssistantMessage& whole);

 private:
  enum class Phase { kStart, kReasoning, kContent, kHeld };

  bool advance(std::vector<Part>& parts);
  void give(std::vector<Part>& parts, size_t count);
  void give_before(std::vector<Part>& parts, std::string_view mark);

  const ToolCallFormat& format_;
  bool has_tools_, has_reasoning_;
  Phase phase_;
  std::string waiting_;  // text that no part has
  std::string reasoning_, content_;
};

}  // namespace cohort
