#include "cohort/train/adversarial/attack_prompts.h"

#include "cohort/core/error.h"

namespace cohort {
namespace {

constexpr std::string_view kPlace = "{attack}";

std::string with_attack(std::string text, const std::string& attack) {
  for (size_t at = text.find(kPlace); at != std::string::npos; at = text.find(kPlace, at + attack.size()))
    text.replace(at, kPlace.size(), attack);
  return text;
}

/// Puts the attack into a prompt, which is a string or a list of messages.
void put_attack(Json& prompt, const std::string& attack) {
  if (prompt.is_string()) {
    prompt = with_attack(prompt.get<std::string>(), attack);
    return;
  }
  for (Json& message : prompt) {
    if (!message.is_object() || !message.contains("content")) continue;
    Json& content = message["content"];
    if (content.is_string()) content = with_attack(content.get<std::string>(), attack);
  }
}

class OpponentReward : public Reward {
 public:
  explicit OpponentReward(std::shared_ptr<PlayAttacks> play) : play_(std::move(play)) {}

  RewardResult score(const Prompt& prompt, const Completion& completion) override {
    const RewardRow row{prompt, completion};
    return score_batch({&row, 1}).front();
  }
  std::vector<RewardResult> score_batch(std::span<const RewardRow> rows) override { return (*play_)(rows); }
  int64_t num_workers() const override { return 0; }

 private:
  std::shared_ptr<PlayAttacks> play_;
};

}  // namespace

Prompt defender_prompt(const Prompt& prompt, const Completion& attack, const TextFormat& format) {
  Row row{prompt.fields, str(prompt.id, "#", attack.sample), prompt.id};
  const auto column = row.columns.find("defender_prompt");
  if (column == row.columns.end() || !(column->is_string() || column->is_array())) {
    throw FormatError(str(prompt.id,
                          ": the column `defender_prompt` must be the defender's prompt, a text or a list of "
                          "messages"));
  }
  Json text = std::move(*column);
  put_attack(text, attack.text);
  row.columns.erase("defender_prompt");
  row.columns.erase("prompt_messages");
  row.columns["prompt"] = std::move(text);
  row.columns["attack"] = attack.text;
  return to_prompt(std::move(row), format);
}

Completion harmless(Completion attack, const Tokenizer& tokenizer) {
  attack.text = tokenizer.without_special_tokens(attack.text);
  return attack;
}

std::vector<Prompt> AttackPrompts::next(int64_t count) {
  COHORT_CHECK(std::ssize(prompts_) == count, prompts_.size(), " attacks for ", count, " prompts");
  return std::exchange(prompts_, {});
}

RewardType opponent_reward(std::shared_ptr<PlayAttacks> play) {
  const auto make = [play = std::move(play)](const RewardConfig&) -> std::unique_ptr<Reward> {
    return std::make_unique<OpponentReward>(play);
  };
  return {"opponent", "1 less the mean reward of the other policy.", {make}};
}

RewardResult attack_reward(const Group& games) {
  double sum = 0.0;
  int64_t count = 0;
  for (const Sample& sample : games.samples) {
    if (!sample.has_reward()) continue;
    sum += sample.reward;
    ++count;
  }
  if (count == 0) return {0.0, RewardStatus::kError, "no game of the defender has a reward"};
  return {1.0 - sum / static_cast<double>(count)};
}

}  // namespace cohort
