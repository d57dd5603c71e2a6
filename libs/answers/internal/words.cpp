#include "libs/answers/internal/words.h"

#include <algorithm>
#include <cctype>

#include "libs/answers/internal/doubts.h"
#include "libs/answers/internal/foreign_text.h"
#include "libs/answers/internal/parser.h"
#include "libs/answers/internal/prose.h"
#include "libs/answers/internal/symbols.h"
#include "libs/answers/internal/word_roles.h"
#include "libs/common/ascii.h"

namespace cohort::answers {
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

// Takes "option" or "choice" off the front, in any case of letters.
void take_choice_word(std::string_view& text) {
  for (const std::string_view word : {"option ", "choice "}) {
    if (text.size() <= word.size()) continue;
    const bool is_here = std::equal(word.begin(), word.end(), text.begin(), [](char a, char b) {
      return a == std::tolower(static_cast<unsigned char>(b));
    });
    if (is_here) text = trim(text.substr(word.size()));
  }
}

constexpr char kLastChoice = 'J';

bool is_choice_letter(char c) { return c >= 'A' && c <= kLastChoice; }

// Reads the label of a choice off the front of its text.
class LabelReader {
 public:
  explicit LabelReader(std::string_view text) : rest_(trim(text)) {}

  std::optional<LabelledChoice> read() {
    take_openings();
    take_choice_word(rest_);
    take_openings();
    const bool is_round = take("(");
    if (rest_.empty() || !is_choice_letter(rest_[0])) return std::nullopt;
    const char letter = rest_[0];
    rest_.remove_prefix(1);
    take_closings();
    if (is_round && !take(")")) return std::nullopt;
    const bool is_ended = take(".") || take(":") || (!is_round && take(")"));
    take_closings();
    if (!is_round && !is_ended && !take(":")) return std::nullopt;
    if (!take_gap() && num_closed_ == 0) return std::nullopt;
    while (num_opened_ > num_closed_ && rest_.ends_with('}')) {
      rest_.remove_suffix(1);
      ++num_closed_;
    }
    if (num_opened_ != num_closed_) return std::nullopt;
    while (rest_.ends_with('*')) rest_.remove_suffix(1);
    return LabelledChoice{letter, trim(rest_)};
  }

 private:
  bool take(std::string_view prefix) {
    if (!rest_.starts_with(prefix)) return false;
    rest_.remove_prefix(prefix.size());
    return true;
  }

  // Fonts and emphasis.
  void take_openings() {
    constexpr std::string_view kOpenings[] = {"\\textbf{", "\\text{", "\\textrm{", "\\mathrm{",
                                              "\\mathbf{", "\\mbox{", "*",         "$"};
    for (bool is_taken = true; is_taken;) {
      is_taken = take(" ");
      for (const std::string_view opening : kOpenings) {
        if (!take(opening)) continue;
        num_opened_ += opening.back() == '{';
        is_taken = true;
      }
    }
  }

  void take_closings() {
    while (true) {
      if (take("*") || take("$")) continue;
      if (num_opened_ <= num_closed_ || !take("}")) return;
      ++num_closed_;
    }
  }

  // White space between label and text, and what closes a font behind it: \text{(B) }12.
  bool take_gap() {
    bool is_taken = false;
    while (take(" ") || take("\n") || take("\t") || take("~") || take("\\ ") || take("\\,") || take("\\;") ||
           take("\\quad") || take("\\qquad")) {
      is_taken = true;
      take_closings();
    }
    return is_taken;
  }

  std::string_view rest_;
  int num_opened_ = 0, num_closed_ = 0;
};

// Does it go on as an expression or a list, so that no label stood before it?
bool continues_expression(std::string_view text) {
  if (text.empty() || std::string_view("+*/=<>^_|,;)&!").find(text[0]) != std::string_view::npos) return true;
  if (text.starts_with("- ") || text.starts_with("or ") || text.starts_with("and ")) return true;
  size_t length = 0;
  const auto sign = find_sign(text, length);
  size_t end = 1;
  while (end < text.size() && std::isalpha(static_cast<unsigned char>(text[end]))) ++end;
  const std::optional<Command> command = text[0] == '\\' ? find_command(text.substr(1, end - 1))
                                         : sign && sign->starts_with('\\')
                                             ? find_command(sign->substr(1, sign->find(' ') - 1))
                                             : std::nullopt;
  return command && command->kind == CommandKind::kPunctuation && command->meaning != "+-" &&
         command->meaning != "[" && command->meaning != "\\{" && command->meaning != "(";
}

// Is there a second label, as in (A) 11 (B) 12?
bool has_label(std::string_view text) {
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    if (is_choice_letter(text[i]) && text[i - 1] == '(' && text[i + 1] == ')') return true;
    if (is_choice_letter(text[i]) && text[i - 1] == ' ' && (text[i + 1] == ')' || text[i + 1] == '.'))
      return true;
  }
  return false;
}

// Does the text deny its label or name another one: "is wrong", "no, C"?
bool takes_label_back(std::string_view text) {
  const std::vector<Sentence> sentences = read_sentences(text, 1);
  if (sentences.empty()) return false;
  const size_t comma = text.find(',');
  const bool is_other = comma != std::string_view::npos && text.substr(0, 2) == "no" &&
                        find_choice(text.substr(comma + 1)).has_value();
  return is_other || !find_denial(sentences[0].pieces, 0).empty();
}

}  // namespace

std::optional<std::string> find_words(std::string_view text) {
  const std::optional<std::string> stripped = strip_fonts(trim(text));
  if (!stripped || find_choice(text)) return std::nullopt;
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
  take_choice_word(plain);
  if (plain.size() > 1 && plain[0] == '(') plain.remove_prefix(1);
  if (plain.empty() || plain[0] < 'A' || plain[0] > 'Z') return std::nullopt;
  if (trim(text) == "\\mathbf{R}" || trim(text) == "\\mathbf{Z}") return std::nullopt;  // number sets
  const std::string_view behind = plain.substr(1);
  if (!behind.empty() && behind != ")" && behind != "." && behind != ")." && behind != ":")
    return std::nullopt;
  return plain[0];
}

std::optional<LabelledChoice> find_labelled_choice(std::string_view text) {
  if (text.size() > kMaxBytes) return std::nullopt;
  std::optional<LabelledChoice> choice = LabelReader(text).read();
  if (!choice || continues_expression(choice->text) || has_label(choice->text)) return std::nullopt;
  choice->is_denied = takes_label_back(choice->text);
  ParseFailure failure;
  const bool is_answer = find_words(choice->text) || parse(choice->text, failure) ||
                         failure.kind == ParseFailure::Kind::kUnsupported;
  return is_answer ? choice : std::nullopt;
}

// was, has: a word that no vowel but a gives away
static bool is_role_word(std::string_view run) {
  return run.size() >= 3 && word_role(run) != WordRole::kOther;
}

bool is_prose(std::string_view text) {
  const auto is_latin = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  for (size_t i = 0; i < text.size();) {
    size_t length = 0;
    while (i + length < text.size() && is_latin(text[i + length])) ++length;
    const std::string_view run = text.substr(i, length);
    if ((i == 0 || text[i - 1] != '\\') && !find_word(run) && (is_wordy(run) || is_role_word(run)))
      return true;
    if (length == 0 && is_foreign_letter(text, i)) return true;
    i += std::max<size_t>(length, 1);
  }
  return false;
}

}  // namespace cohort::answers
