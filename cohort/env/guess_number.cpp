#include "cohort/env/guess_number.h"

#include <algorithm>
#include <charconv>

#include "cohort/core/error.h"
#include "libs/common/ascii.h"
#include "libs/common/random.h"

namespace cohort {
namespace {

/// The last integer of a text of at most nine digits.
std::optional<int64_t> last_integer(std::string_view text) {
  size_t end = text.size();
  while (end > 0 && !is_digit(text[end - 1])) --end;
  size_t begin = end;
  while (begin > 0 && is_digit(text[begin - 1])) --begin;
  if (begin == end || end - begin > 9) return std::nullopt;
  if (begin > 0 && text[begin - 1] == '-') --begin;
  int64_t value = 0;
  std::from_chars(text.data() + begin, text.data() + end, value);
  return value;
}

class GuessNumberEpisode : public Episode {
 public:
  /// Without a number the game is won before it begins.
  GuessNumberEpisode(std::optional<int64_t> number, int64_t low, int64_t high, double cost)
      : number_(number), low_(low), high_(high), cost_(cost) {}

  /// The numbers that its replies have left.
  int64_t state() const { return state_number(str(low_, " to ", high_)); }

  void respond(const AssistantMessage& turn, bool, Begun, Answer answer) override {
    const std::optional<int64_t> guess = last_integer(turn.content);
    is_found_ = !number_ || guess == number_;
    if (!is_found_) ++num_wrong_;
    const char* text = is_found_ ? "correct" : !guess ? "no number" : *guess < *number_ ? "higher" : "lower";
    if (guess && guess < number_) low_ = std::max(low_, *guess + 1);
    if (guess && guess > number_) high_ = std::min(high_, *guess - 1);
    Reply reply{.is_last = is_found_, .state = state()};
    reply.messages.push_back({{"role", "user"}, {"content", text}});
    answer(std::move(reply));
  }

  void judge(Begun, Judgement judgement) override {
    judgement({is_found_ ? std::max(0.0, 1.0 - cost_ * static_cast<double>(num_wrong_)) : 0.0});
  }

 private:
  std::optional<int64_t> number_;
  int64_t low_, high_;
  double cost_;
  bool is_found_ = false;
  int64_t num_wrong_ = 0;
};

class GuessNumber : public Environment {
 public:
  explicit GuessNumber(double cost) : cost_(cost) {}

  bool gives_rewards() const override { return true; }
  bool gives_states() const override { return true; }

  std::vector<Opening> begin(const std::vector<EpisodeStart>& starts) override {
    std::vector<Opening> openings;
    openings.reserve(starts.size());
    for (const EpisodeStart& start : starts) {
      const int64_t low = bound(*start.prompt, "low", 1), high = bound(*start.prompt, "high", 100);
      if (low > high) throw FormatError(str(start.prompt->id, ": `low` is above `high`"));
      auto episode = std::make_unique<GuessNumberEpisode>(hidden_number(start, low, high), low, high, cost_);
      const int64_t state = episode->state();
      openings.push_back({.episode = std::move(episode), .state = state});
    }
    return openings;
  }

 private:
  /// The attack's number, if there is an attack and it names one in the bounds; else a random one.
  static std::optional<int64_t> hidden_number(const EpisodeStart& start, int64_t low, int64_t high) {
    const auto attack = start.prompt->fields.find("attack");
    if (attack != start.prompt->fields.end() && attack->is_string()) {
      const std::optional<int64_t> number = last_integer(attack->get<std::string>());
      return number && *number >= low && *number <= high ? number : std::nullopt;
    }
    CounterRng rng(start.seed);
    return low + static_cast<int64_t>(rng.below(static_cast<uint64_t>(high - low + 1)));
  }

  static int64_t bound(const Prompt& prompt, const char* name, int64_t otherwise) {
    const Json value = prompt.fields.value(name, Json(otherwise));
    if (!value.is_number_integer() || value < -1'000'000 || value > 1'000'000)
      throw FormatError(str(prompt.id, ": `", name, "` must be an integer up to a million"));
    return value.get<int64_t>();
  }

  double cost_;
};

}  // namespace

std::unique_ptr<Environment> make_guess_number(double cost) { return std::make_unique<GuessNumber>(cost); }

}  // namespace cohort
