#include "cohort/rewards/math/words.h"

#include <cctype>

#include "cohort/rewards/answer_text.h"
#include "cohort/rewards/math/symbols.h"

namespace cohort::math {
namespace {

constexpr size_t kMaxBytes = 200;

bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || static_cast<unsigned char>(c) >= 0x80;
}

// The text without fonts, braces, dollars, quotes and asterisks; nothing where other commands stand in it.
std::optional<std::string> strip_fonts(std::string_view text) {
  if (text.size() > kMaxBytes) return std::nullopt;
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      size_t end = i + 1;
      while (end < text.size() && std::isalpha(static_cast<unsigned char>(text[end]))) ++end;
      const std::optional<Command> command = find_command(text.substr(i + 1, end - i - 1));
      const bool is_space = end == i + 1 && end < text.size() && (text[end] == ' ' || text[end] == ',');
      if (!is_space &&
          (!command || (command->kind != CommandKind::kText && command->kind != CommandKind::kFont))) {
        return std::nullopt;
      }
      if (is_space) plain += ' ';
      i = is_space ? end : end - 1;
    } else if (std::string_view("{}$\"*").find(text[i]) == std::string_view::npos) {
      plain += text[i] == '~' || std::isspace(static_cast<unsigned char>(text[i])) ? ' ' : text[i];
    }
  }
  return plain;
}

// Is there a run of letters that is a word, and no sign of mathematics?
bool has_word(std::string_view text) {
  bool found = false;
  for (size_t i = 0; i < text.size();) {
    size_t length = 0;
    if (find_sign(text.substr(i), length) && text[i] != '\'') return false;
    while (i + length < text.size() && is_letter(text[i + length])) ++length;
    const std::string_view run = text.substr(i, length);
    found = found || (length > 0 && !find_word(run) && is_wordy(run));
    i += length > 0 ? length : 1;
  }
  return found;
}

}  // namespace

std::optional<std::string> find_words(std::string_view text) {
  const std::optional<std::string> stripped = strip_fonts(trim(text));
  if (!stripped) return std::nullopt;
  std::string_view plain = trim(*stripped);
  if (!plain.empty() && plain.back() == '.') plain = trim(plain.substr(0, plain.size() - 1));
  if (plain.empty() || !is_letter(plain[0])) return std::nullopt;
  for (char c : plain) {
    if (!is_letter(c) && std::string_view(" -',.0123456789").find(c) == std::string_view::npos)
      return std::nullopt;
  }
  if (!has_word(plain)) return std::nullopt;
  std::string words;
  for (char c : plain) {
    if (c == ' ' && !words.empty() && words.back() == ' ') continue;
    words += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return words;
}

std::optional<char> find_choice(std::string_view text) {
  const std::optional<std::string> stripped = strip_fonts(trim(text));
  if (!stripped) return std::nullopt;
  std::string_view plain = trim(*stripped);
  if (plain.size() > 1 && plain[0] == '(') plain.remove_prefix(1);
  if (plain.empty() || plain[0] < 'A' || plain[0] > 'Z') return std::nullopt;
  const std::string_view behind = plain.substr(1);
  if (!behind.empty() && behind != ")" && behind != "." && behind != ")." && behind != ":")
    return std::nullopt;
  return plain[0];
}

}  // namespace cohort::math
