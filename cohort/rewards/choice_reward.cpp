// Multiple choice: which letter a completion names, in its many spellings and in sentences of many languages
// (choice/stated_choice.h), or the choice's own text. Naming several is naming none.
#include <algorithm>

#include "cohort/rewards/answer_text.h"
#include "cohort/rewards/choice/stated_choice.h"
#include "cohort/rewards/make_reward.h"
#include "cohort/rewards/section_tags.h"
#include "libs/common/answer_marks.h"
#include "libs/common/excerpt.h"

namespace cohort {
namespace {

using choice::Choices;
using choice::find_stated_choice;

struct ChoiceKeys {
  std::string choices;
  std::string column;

  void describe(FieldVisitor& f) {
    f("choices", choices,
      "The letters that are choices, in order; those of the row's `choices`, or A to J, when empty.");
    describe_reference_column(f, column);
  }
};

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr size_t kUsualLetters = 10;

// The texts of the column `choices`: a list, {"text": [...], "label": [...]}, or {"A": ..., "B": ...}.
std::vector<std::string> read_texts(const Json& fields) {
  const auto column = fields.find("choices");
  if (column == fields.end() || !column->is_structured()) return {};
  const Json& choices = column->is_object() && column->contains("text") ? column->at("text") : *column;
  std::vector<std::string> texts;
  if (choices.is_structured()) {
    for (const Json& text : choices) texts.push_back(string_or_json(text));
  }
  return texts;
}

// The text without the inside of its last box, which begins at `inside`.
std::string without_box(std::string_view text, std::string_view inside) {
  std::string rest(text);
  std::fill_n(rest.begin() + (inside.data() - text.data()), inside.size(), ' ');
  return rest;
}

// Does another box with a letter stand before the last one, joined by "or", "and" or a comma?
bool is_joined_box(std::string_view text, std::string_view inside, const Choices& choices) {
  constexpr size_t kMaxBytes = 40;
  const std::string_view before =
      text.substr(0, text.rfind('\\', static_cast<size_t>(inside.data() - text.data()) - 1));
  const Box other = last_box(before);
  if (!other.inside || !has_choice_letter(*other.inside, choices)) return false;
  const std::string_view between =
      before.substr(static_cast<size_t>(other.inside->data() + other.inside->size() - before.data()));
  if (between.size() > kMaxBytes || between.find_first_of(".!?\n") != std::string_view::npos) return false;
  const auto has = [between](std::string_view word) { return between.find(word) != std::string_view::npos; };
  const bool is_list = between.find_first_not_of("}$, ") == std::string_view::npos;
  return is_list || ((has(" or ") || has(" and ") || has("/")) && !has("rather") && !has("not"));
}

// The tagged or the boxed letter, or else that of the sentences, unless they are unfinished thinking. A box
// without a letter holds a formula.
std::optional<char> named_choice(std::string_view text, const Choices& choices) {
  const std::string_view rest = behind_thinking(text);
  if (const auto answer = last_answer(rest)) return find_stated_choice(*answer, choices);
  const Box box = last_box(rest);
  if (box.is_open) return std::nullopt;
  const bool is_thinking = text.size() == rest.size() && text.find("<think>") != std::string_view::npos;
  const auto stated_in = [&](std::string_view sentences) {
    return is_thinking ? std::nullopt : find_stated_choice(sentences, choices);
  };
  if (!box.inside) return stated_in(rest);
  const auto letter = find_stated_choice(*box.inside, choices);
  if (letter && is_joined_box(rest, *box.inside, choices)) return std::nullopt;
  if (letter || has_choice_letter(*box.inside, choices)) return letter;
  return stated_in(without_box(rest, *box.inside));
}

class ChoiceReward : public Reward {
 public:
  explicit ChoiceReward(const ChoiceKeys& keys)
      : letters_(keys.choices), column_(keys.column.empty() ? "answer" : keys.column) {}

  RewardResult score(const Prompt& prompt, const Completion& completion) override {
    const Choices choices = read_choices(prompt.fields);
    const auto reference = column_text(prompt.fields, column_);
    const auto right = reference ? find_stated_choice(*reference, choices) : std::nullopt;
    if (!right) {
      return {0.0, RewardStatus::kUnparsed,
              str(prompt.id, ": column \"", column_, "\" holds none of the choices ", choices.letters())};
    }
    const auto letter = named_choice(thinking_text(prompt, completion), choices);
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
    const auto right = reference ? find_stated_choice(*reference, choices) : std::nullopt;
    return {{is_marked ? "answer" : "answer, all of the text", shown(answer)},
            {"answer read as", letter_text(named_choice(thinking_text(prompt, completion), choices))},
            {"reference", reference ? shown(*reference) : "none"},
            {"reference read as", letter_text(right)},
            {"choices", choices.letters()}};
  }

  std::string answer(const Prompt& prompt, const Completion& completion) const override {
    const auto letter = named_choice(thinking_text(prompt, completion), read_choices(prompt.fields));
    return letter ? std::string(1, *letter) : "";
  }

 private:
  /// The recipe's letters, or as many as the row lists choices, or A to J.
  Choices read_choices(const Json& fields) const {
    std::vector<std::string> texts = read_texts(fields);
    std::string letters = letters_;
    if (letters.empty()) letters = kAlphabet.substr(0, texts.empty() ? kUsualLetters : texts.size());
    texts.resize(std::min(texts.size(), letters.size()));
    return Choices(std::move(letters), texts);
  }

  std::string letters_, column_;
};

}  // namespace

RewardMaker choice_reward() {
  return reward_maker<ChoiceKeys>([](const RewardConfig& config, const ChoiceKeys& keys) {
    const auto is_letter = [](char c) { return c >= 'A' && c <= 'Z'; };
    if (!std::all_of(keys.choices.begin(), keys.choices.end(), is_letter))
      throw ConfigError(str("reward ", config.name, ": `choices` must be capital letters, such as ABCD"));
    return std::make_unique<ChoiceReward>(keys);
  });
}

}  // namespace cohort
