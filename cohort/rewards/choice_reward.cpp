// Multiple choice: which letter a completion names, in its many spellings: "B", "(b)", "**B.** Paris",
// "\\boxed{\\text{B}}", "the answer is option B", or the choice's own text. Naming several is naming none.
#include <algorithm>
#include <cctype>

#include "cohort/rewards/answer_text.h"
#include "cohort/rewards/make_reward.h"

namespace cohort {
namespace {

constexpr std::string_view kLetters = "ABCDEFGHIJ";

bool is_word_byte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return std::isalnum(byte) != 0 || c == '_' || byte >= 0x80;
}

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; }

bool equal_in_any_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return upper(x) == upper(y); });
}

/// Takes `words` off the front, in any case of letters; whole words only.
bool take_words(std::string_view& text, std::string_view words) {
  if (text.size() < words.size() || !equal_in_any_case(text.substr(0, words.size()), words)) return false;
  if (text.size() > words.size() && is_word_byte(text[words.size()]) && is_word_byte(words.back()))
    return false;
  text.remove_prefix(words.size());
  return true;
}

/// Takes off white space, emphasis, brackets and LaTeX around a letter, and words that introduce it.
void take_wrapping(std::string_view& text) {
  constexpr std::string_view kWrapping = " \t\r\n*_$`({[:\"'";
  constexpr std::string_view kWords[] = {"\\boxed", "\\textbf", "\\text", "\\mathrm", "\\mathbf", "\\(",
                                         "option",  "choice",   "answer", "is",       "the",      "letter"};
  for (bool is_taken = true; is_taken;) {
    is_taken = false;
    while (!text.empty() && kWrapping.find(text.front()) != std::string_view::npos) {
      text.remove_prefix(1);
      is_taken = true;
    }
    for (const std::string_view words : kWords) is_taken = take_words(text, words) || is_taken;
  }
}

/// Letters of the alphabet that stand alone as capitals: "A and C" has two.
std::string lone_letters(std::string_view text, std::string_view letters) {
  std::string found;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_alone =
        (i == 0 || !is_word_byte(text[i - 1])) && (i + 1 == text.size() || !is_word_byte(text[i + 1]));
    // "A man" and "I think" are no choices.
    const bool is_word = (text[i] == 'A' || text[i] == 'I') && i + 2 < text.size() && text[i + 1] == ' ' &&
                         std::islower(static_cast<unsigned char>(text[i + 2])) != 0;
    if (is_alone && !is_word && letters.find(text[i]) != std::string_view::npos &&
        found.find(text[i]) == std::string::npos)
      found += text[i];
  }
  return found;
}

struct Choices {
  std::string letters;
  std::vector<std::string> texts;  ///< of the choices; may be empty

  /// The letter whose choice has this text.
  std::optional<char> by_text(std::string_view text) const {
    for (size_t i = 0; i < texts.size(); ++i) {
      if (equal_in_any_case(trim(texts[i]), trim(text))) return letters[i];
    }
    return std::nullopt;
  }
};

std::string_view without_wrapping(std::string_view text) {
  constexpr std::string_view kWrapping = " \t\r\n*_$`(){}[]:.\"'-";
  const size_t begin = text.find_first_not_of(kWrapping);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kWrapping) - begin + 1);
}

/// Does the text behind a letter deny it: ") is wrong", ". isn't right"?
bool is_denial(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t*_`$)}]:.,\"'-");
  if (begin == std::string_view::npos) return false;
  text.remove_prefix(begin);
  for (const std::string_view words :
       {"is not", "isn't", "is wrong", "is incorrect", "is false", "cannot", "can't"}) {
    if (take_words(text, words)) return true;
  }
  return false;
}

/// The choice that `answer` is: its text, or a letter at its beginning and no other one behind.
std::optional<char> read_choice(std::string_view answer, const Choices& choices) {
  if (const auto letter = choices.by_text(answer)) return letter;
  std::string_view rest = answer;
  take_wrapping(rest);
  if (rest.empty()) return std::nullopt;
  const char letter = upper(rest.front());
  const bool ends = rest.size() == 1 || !is_word_byte(rest[1]);
  if (choices.letters.find(letter) == std::string::npos || !ends) return std::nullopt;
  if (is_denial(rest.substr(1))) return std::nullopt;
  const std::string others = lone_letters(rest.substr(1), choices.letters);
  if (!others.empty() && others != std::string(1, letter)) return std::nullopt;
  const auto by_text = choices.by_text(without_wrapping(rest.substr(1)));
  if (by_text) return by_text == letter ? by_text : std::nullopt;
  // A letter and then prose, "a dog": only with something between them that ends the letter.
  const bool is_closed = rest.size() == 1 || rest[1] != ' ' || (rest.size() > 2 && !is_word_byte(rest[2]));
  return is_closed ? std::optional(letter) : std::nullopt;
}

/// Where the last "answer is", "answer:" and the like end; npos without one.
size_t behind_announcement(std::string_view text) {
  constexpr std::string_view kAnnouncements[] = {"answer is", "answer:",         "choice is", "option is",
                                                 "choose",    "answer would be", "answer"};
  size_t end = std::string_view::npos;
  for (size_t i = 0; i < text.size(); ++i) {
    for (const std::string_view words : kAnnouncements) {
      if (i + words.size() <= text.size() && equal_in_any_case(text.substr(i, words.size()), words) &&
          (i == 0 || !is_word_byte(text[i - 1]))) {
        end = i + words.size();
        break;
      }
    }
  }
  return end;
}

std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

std::optional<char> named_choice(std::string_view text, const Choices& choices) {
  const auto [answer, is_marked] = stated_answer(text);
  if (is_marked) return read_choice(answer, choices);
  if (const auto letter = read_choice(answer, choices)) return letter;
  if (const size_t begin = behind_announcement(answer); begin != std::string_view::npos) {
    return read_choice(first_line(trim(answer.substr(begin))), choices);
  }
  const size_t last_line = answer.rfind('\n');
  return last_line == std::string_view::npos ? std::nullopt
                                             : read_choice(trim(answer.substr(last_line)), choices);
}

class ChoiceReward : public Reward {
 public:
  explicit ChoiceReward(const RewardConfig& config)
      : letters_(config.choices), column_(config.column.empty() ? "answer" : config.column) {}

  RewardResult score(const Prompt& prompt, const Completion& completion) override {
    const Choices choices = read_choices(prompt.fields);
    const auto reference = column_text(prompt.fields, column_);
    const auto right = reference ? read_choice(trim(*reference), choices) : std::nullopt;
    if (!right) {
      return {0.0, RewardStatus::kUnparsed,
              str(prompt.id, ": column \"", column_, "\" holds none of the choices ", choices.letters)};
    }
    const auto letter = named_choice(completion.text, choices);
    if (!letter) return {0.0, RewardStatus::kOk, "names no choice, or several"};
    return {letter == right ? 1.0 : 0.0, RewardStatus::kOk, str("names ", *letter)};
  }

  std::vector<Remark> explain(const Prompt& prompt, const Completion& completion) const override {
    const Choices choices = read_choices(prompt.fields);
    const auto letter_text = [](std::optional<char> letter) {
      return letter ? std::string(1, *letter) : std::string("no choice, or several");
    };
    const auto [answer, is_marked] = stated_answer(completion.text);
    const auto reference = column_text(prompt.fields, column_);
    const auto right = reference ? read_choice(trim(*reference), choices) : std::nullopt;
    return {{is_marked ? "answer" : "answer, all of the text", shown(answer)},
            {"answer read as", letter_text(named_choice(completion.text, choices))},
            {"reference", reference ? shown(*reference) : "none"},
            {"reference read as", letter_text(right)},
            {"choices", choices.letters}};
  }

  std::string answer(const Prompt& prompt, const Completion& completion) const override {
    const auto letter = named_choice(completion.text, read_choices(prompt.fields));
    return letter ? std::string(1, *letter) : "";
  }

 private:
  /// The recipe's letters, or as many as the row lists choices, or all.
  Choices read_choices(const Json& fields) const {
    Choices choices{letters_, {}};
    const auto column = fields.find("choices");
    if (column != fields.end() && column->is_array()) {
      for (const Json& text : *column)
        choices.texts.push_back(text.is_string() ? text.get<std::string>() : text.dump());
    }
    if (choices.letters.empty()) {
      choices.letters =
          std::string(kLetters.substr(0, choices.texts.empty() ? kLetters.size() : choices.texts.size()));
    }
    choices.texts.resize(std::min(choices.texts.size(), choices.letters.size()));
    return choices;
  }

  std::string letters_, column_;
};

}  // namespace

std::unique_ptr<Reward> make_choice_reward(const RewardConfig& config) {
  const bool are_letters =
      std::all_of(config.choices.begin(), config.choices.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  if (!are_letters)
    throw ConfigError(str("reward ", config.name, ": `choices` must be capital letters, such as ABCD"));
  return std::make_unique<ChoiceReward>(config);
}

}  // namespace cohort
