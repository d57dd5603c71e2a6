#define PCRE2_CODE_UNIT_WIDTH 8
#include "libs/regex/regex.h"

#include <pcre2.h>

#include <mutex>
#include <optional>

#include "libs/common/check.h"
#include "libs/common/str.h"

namespace cohort {
namespace {

std::string error_text(int code) {
  PCRE2_UCHAR message[256];
  pcre2_get_error_message(code, message, sizeof message);
  return reinterpret_cast<const char*>(message);
}

using MatchData = std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)>;
using MatchContext = std::unique_ptr<pcre2_match_context, decltype(&pcre2_match_context_free)>;
using JitStack = std::unique_ptr<pcre2_jit_stack, decltype(&pcre2_jit_stack_free)>;

/// One search through one text.
class Search {
 public:
  Search(const pcre2_code* code, bool compiled, std::string_view text, pcre2_match_data* match)
      : code_(code), compiled_(compiled), text_(text), match_(match) {}

  /// The first match that begins at `from` or later.
  std::optional<TextSpan> find(size_t from) {
    int result = match(from);
    if (result == PCRE2_ERROR_JIT_STACKLIMIT && stack_ == nullptr) {
      enlarge_stack();
      result = match(from);
    }
    if (result == PCRE2_ERROR_NOMATCH) return std::nullopt;
    if (result < 0) {
      throw RegexError(str("the regular expression gave up on a text of ", text_.size(), " bytes, at byte ",
                           from, ": ", error_text(result)));
    }
    const size_t* bounds = pcre2_get_ovector_pointer(match_);
    return TextSpan{bounds[0], bounds[1], true};
  }

 private:
  int match(size_t from) {
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text_.data());
    if (compiled_) return pcre2_jit_match(code_, subject, text_.size(), from, 0, match_, context_.get());
    return pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text_.data()), text_.size(), from,
                       PCRE2_NO_UTF_CHECK, match_, context_.get());
  }

  void enlarge_stack() {
    constexpr size_t kStartBytes = size_t{1} << 20;
    constexpr size_t kMaxBytes = size_t{1} << 28;
    stack_.reset(pcre2_jit_stack_create(kStartBytes, kMaxBytes, nullptr));
    context_.reset(pcre2_match_context_create(nullptr));
    COHORT_CHECK(stack_ != nullptr && context_ != nullptr, "Out of memory.");
    pcre2_jit_stack_assign(context_.get(), nullptr, stack_.get());
  }

  const pcre2_code* code_;
  bool compiled_;
  std::string_view text_;
  pcre2_match_data* match_;
  JitStack stack_{nullptr, pcre2_jit_stack_free};
  MatchContext context_{nullptr, pcre2_match_context_free};
};

size_t next_boundary(std::string_view text, size_t pos) {
  do ++pos;
  while (pos < text.size() && (static_cast<unsigned char>(text[pos]) & 0xC0) == 0x80);
  return pos;
}

}  // namespace

/// Match data that no search uses at the moment: to make it anew for every text would cost more than short
/// searches.
class Regex::MatchDataPool {
 public:
  MatchData take(const pcre2_code* code) {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        MatchData match = std::move(free_.back());
        free_.pop_back();
        return match;
      }
    }
    MatchData match(pcre2_match_data_create_from_pattern(code, nullptr), pcre2_match_data_free);
    COHORT_CHECK(match != nullptr, "Out of memory.");
    return match;
  }

  void give_back(MatchData match) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(match));
  }

 private:
  std::mutex mutex_;
  std::vector<MatchData> free_;
};

Regex::Regex(const std::string& pattern) : pool_(std::make_shared<MatchDataPool>()) {
  const std::unique_ptr<pcre2_compile_context, decltype(&pcre2_compile_context_free)> context(
      pcre2_compile_context_create(nullptr), pcre2_compile_context_free);
  COHORT_CHECK(context != nullptr, "Out of memory.");
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  size_t offset = 0;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                   PCRE2_UTF | PCRE2_MULTILINE, &error, &offset, context.get());
  if (code == nullptr) throw RegexError(str("regular expression: ", error_text(error)));
  code_ = std::shared_ptr<const pcre2_code>(code, [code](const pcre2_code*) { pcre2_code_free(code); });
  // Where there is no just-in-time compiler, the same matches come from the interpreter.
  compiled_ = pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) == 0;
}

void Regex::find_all(std::string_view text, std::vector<TextSpan>& spans) const {
  MatchData match_data = pool_->take(code_.get());
  Search search(code_.get(), compiled_, text, match_data.get());
  size_t covered = 0;                  // spans reach to here
  std::optional<size_t> previous_end;  // of the previous match
  for (size_t from = 0; from <= text.size();) {
    const std::optional<TextSpan> match = search.find(from);
    if (!match) break;
    // An empty match directly behind a match does not count.
    if (match->begin == match->end && previous_end == match->end) {
      from = next_boundary(text, from);
      continue;
    }
    if (match->begin > covered) spans.push_back({covered, match->begin, false});
    spans.push_back(*match);
    covered = match->end;
    previous_end = match->end;
    from = match->end;
  }
  if (covered < text.size()) spans.push_back({covered, text.size(), false});
  pool_->give_back(std::move(match_data));
}

bool Regex::is_match(std::string_view text) const {
  MatchData match_data = pool_->take(code_.get());
  const bool found = Search(code_.get(), compiled_, text, match_data.get()).find(0).has_value();
  pool_->give_back(std::move(match_data));
  return found;
}

}  // namespace cohort
