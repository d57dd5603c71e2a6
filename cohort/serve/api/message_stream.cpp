#include "cohort/serve/api/message_stream.h"

#include <algorithm>

namespace cohort {
namespace {

constexpr const char* kSpace = " \t\r\n";

/// The length of the longest end of `text` that begins `mark`.
size_t overlap(std::string_view text, std::string_view mark) {
  for (size_t size = std::min(mark.size() - 1, text.size()); size > 0; --size) {
    if (text.ends_with(mark.substr(0, size))) return size;
  }
  return 0;
}

}  // namespace

std::vector<MessageStream::Part> MessageStream::push(std::string_view text) {
  waiting_ += text;
  std::vector<Part> parts;
  while (advance(parts)) {
  }
  return parts;
}

/// True if the next phase may find more in the text that waits.
bool MessageStream::advance(std::vector<Part>& parts) {
  if (phase_ == Phase::kHeld) return false;
  const bool is_reasoning = phase_ == Phase::kReasoning;
  const size_t first = std::min(waiting_.find_first_not_of(kSpace), waiting_.size());
  if (first == waiting_.size()) return false;
  if (phase_ == Phase::kStart) {
    const std::string_view open = format_.reasoning_open, text = std::string_view(waiting_).substr(first);
    if (text.size() < open.size() && open.starts_with(text)) return false;
    const bool opens = text.starts_with(open);
    if (opens) waiting_.erase(0, first + open.size());
    has_reasoning_ |= opens;
    phase_ = opens ? Phase::kReasoning : Phase::kContent;
    return true;
  }
  // Neither reasoning nor what follows it begins with white space.
  if (has_reasoning_ && (is_reasoning ? reasoning_ : content_).empty()) waiting_.erase(0, first);
  if (is_reasoning) {
    const size_t close = waiting_.find(format_.reasoning_close);
    give_before(parts, format_.reasoning_close);
    if (close == std::string::npos) return false;
    waiting_.erase(0, waiting_.find(format_.reasoning_close) + format_.reasoning_close.size());
    phase_ = Phase::kContent;
    return true;
  }
  if (!has_tools_) {
    give(parts, waiting_.size());
  } else if (format_.call_open.empty()) {  // a call is the whole turn
    const char letter = waiting_[waiting_.find_first_not_of(kSpace)];
    if (content_.empty() && std::string_view("{[`<").find(letter) != std::string_view::npos) {
      phase_ = Phase::kHeld;
    } else {
      give(parts, waiting_.size());
    }
  } else {
    const bool has_call = waiting_.find(format_.call_open) != std::string::npos;
    give_before(parts, format_.call_open);
    if (has_call) phase_ = Phase::kHeld;
  }
  return false;
}

/// Gives what certainly stands before `mark`.
void MessageStream::give_before(std::vector<Part>& parts, std::string_view mark) {
  give(parts, std::min(waiting_.find(mark), waiting_.size() - overlap(waiting_, mark)));
}

/// Gives the first `count` bytes, except for white space at their end, which the whole message may not have.
void MessageStream::give(std::vector<Part>& parts, size_t count) {
  const size_t last = std::string_view(waiting_).substr(0, count).find_last_not_of(kSpace);
  if (last == std::string_view::npos) return;
  std::string text = waiting_.substr(0, last + 1);
  waiting_.erase(0, last + 1);
  const bool is_reasoning = phase_ == Phase::kReasoning;
  (is_reasoning ? reasoning_ : content_) += text;
  parts.push_back({std::move(text), is_reasoning});
}

std::vector<MessageStream::Part> MessageStream::finish(const AssistantMessage& whole) {
  std::vector<Part> parts;
  for (const bool is_reasoning : {true, false}) {
    const std::string& text = is_reasoning ? whole.reasoning_content : whole.content;
    const std::string& given = is_reasoning ? reasoning_ : content_;
    if (text.size() > given.size() && text.starts_with(given))
      parts.push_back({text.substr(given.size()), is_reasoning});
  }
  return parts;
}

}  // namespace cohort
