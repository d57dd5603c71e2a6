// Language consistency: the share of the words of the thinking that are in the prompt's language
// (arXiv:2501.12948, section 2.3.2).
#include <algorithm>
#include <map>

#include "cohort/rewards/language.h"
#include "cohort/rewards/make_reward.h"
#include "libs/common/excerpt.h"

namespace cohort {
namespace {

struct LanguageKeys {
  std::string language;

  void describe(FieldVisitor& f) {
    f("language", language, "A language's code, such as en; that of the prompt when empty.");
  }
};

/// The inside of <think>, or the whole completion.
std::string_view thinking(std::string_view text) {
  constexpr std::string_view kOpen = "<think>";
  if (const size_t open = text.find(kOpen); open != std::string_view::npos)
    text.remove_prefix(open + kOpen.size());
  return text.substr(0, text.find("</think>"));
}

class LanguageConsistencyReward : public Reward {
 public:
  explicit LanguageConsistencyReward(std::string language) : language_(std::move(language)) {}

  RewardResult score(const Prompt& prompt, const Completion& completion) override {
    const std::string wanted = language_.empty() ? main_language(prompt.text) : language_;
    if (wanted == "?")
      return {0.0, RewardStatus::kUnparsed, str(prompt.id, ": the prompt's language can't be told")};
    int64_t num_words = 0, num_right = 0;
    for (const LanguageSpan& span : language_spans(thinking(completion.text))) {
      num_words += span.num_words;
      if (span.language == wanted) num_right += span.num_words;
    }
    if (num_words == 0) return {0.0, RewardStatus::kOk, "no words"};
    return {static_cast<double>(num_right) / static_cast<double>(num_words), RewardStatus::kOk,
            str(num_right, " of ", num_words, " words in ", wanted)};
  }

  std::vector<Remark> explain(const Prompt& prompt, const Completion& completion) const override {
    const std::string_view text = thinking(completion.text);
    std::vector<Remark> remarks = {
        {"language wanted", language_.empty() ? main_language(prompt.text) + ", the prompt's" : language_},
        {"thinking", shown(text)}};
    std::map<std::string, int64_t> words;
    for (const LanguageSpan& span : language_spans(text)) words[span.language] += span.num_words;
    for (const auto& [language, count] : words) remarks.push_back({"words in " + language, str(count)});
    return remarks;
  }

 private:
  std::string language_;
};

}  // namespace

RewardMaker language_consistency_reward() {
  return reward_maker<LanguageKeys>([](const RewardConfig& config, const LanguageKeys& keys) {
    const std::vector<std::string> known = known_languages();
    if (!keys.language.empty() && std::find(known.begin(), known.end(), keys.language) == known.end()) {
      std::string list;
      for (const std::string& code : known) list += (list.empty() ? "" : " ") + code;
      throw ConfigError(str("reward ", config.name, ": `language` = \"", keys.language,
                            "\" is not known; there are ", list));
    }
    return std::make_unique<LanguageConsistencyReward>(keys.language);
  });
}

}  // namespace cohort
