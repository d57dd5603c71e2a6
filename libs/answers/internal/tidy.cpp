#include "libs/answers/internal/tidy.h"

#include "libs/common/ascii.h"
#include "libs/common/str.h"

namespace cohort::answers {
namespace {

struct Pair {
  std::string_view open, close;
};

constexpr Pair kQuotes[] = {{"`", "`"}, {"\"", "\""}, {"'", "'"},  {"“", "”"},
                            {"‘", "’"}, {"``", "''"}, {"__", "__"}};
constexpr std::string_view kTails[] = {"\\text{.}", "\\text{,}", "\\mbox{.}", "\\,", "\\;",
                                       "\\!",       "\\\\",      ",",         ";",   ":"};

// Takes one thing off either end; false where there is none.
bool strip_one(std::string_view& text) {
  for (const Pair& quotes : kQuotes) {
    const size_t around = quotes.open.size() + quotes.close.size();
    if (text.size() <= around || !text.starts_with(quotes.open) || !text.ends_with(quotes.close)) continue;
    text = text.substr(quotes.open.size(), text.size() - around);
    return true;
  }
  for (const std::string_view tail : kTails) {
    if (!text.ends_with(tail)) continue;
    text.remove_suffix(tail.size());
    return true;
  }
  const size_t size = text.size();
  if (text.starts_with("*") || text.starts_with(":")) text.remove_prefix(1);
  if (text.ends_with("*")) text.remove_suffix(1);
  return text.size() < size;
}

}  // namespace

std::string tidy(std::string_view text) {
  text = trim(text);
  std::string plain;
  const size_t close = text.starts_with("**") ? text.find("**", 2) : std::string_view::npos;
  if (close != std::string_view::npos) {  // **5** apples: the sign of a power never begins an answer
    plain = str(text.substr(2, close - 2), text.substr(close + 2));
    text = trim(plain);
  }
  while (!text.empty() && strip_one(text)) text = trim(text);
  return std::string(text);
}

}  // namespace cohort::answers
