#include <algorithm>
#include <cmath>

#include "cohort/core/error.h"
#include "cohort/view/report_parts.h"

namespace cohort {
namespace {

/// Wilson's 95 % interval of a share of `count` independent trials. Prompts whose values lie between 0 and 1
/// spread at most as much.
std::string widest_interval(double share, double count) {
  constexpr double kZ = 1.959963985;
  const double z2 = kZ * kZ / count;
  const double centre = (share + z2 / 2) / (1 + z2);
  const double half = kZ * std::sqrt(share * (1 - share) / count + z2 / (4 * count)) / (1 + z2);
  return str(short_number(std::max(0.0, centre - half)), " to ", short_number(std::min(1.0, centre + half)));
}

/// Whether every prompt has all of its completions judged, so that it is in each pass@k.
bool is_fully_judged(const Json& reward) {
  const Json statuses = reward.value("reward_statuses", Json());
  if (!statuses.is_object()) return false;
  return std::ranges::all_of(statuses.items(),
                             [](const auto& status) { return status.key() == "ok" || status.value() == 0; });
}

void add_figure(const std::vector<std::string>& of_file, const std::string& name, const Json& value,
                const std::string& interval, Table& table) {
  std::vector<std::string> row = of_file;
  row.insert(row.end(),
             {name, value.is_number() ? short_number(value.get<double>()) : std::string("-"), interval});
  table.rows.push_back(std::move(row));
}

void add_reward(const std::vector<std::string>& of_file, const std::string& name, const Json& reward,
                int64_t num_prompts, Table& table) {
  add_figure(of_file, name + ": mean", reward.value("mean", Json()), "none", table);
  for (const char* figure : {"pass", "cons"}) {
    const Json by_k = reward.value(str(figure, "@k"), Json::object());
    if (!by_k.is_object()) throw FormatError(str(figure, "@k is no table"));
    for (const auto& [k, value] : by_k.items()) {
      const bool has_interval =
          figure == std::string("pass") && num_prompts > 0 && value.is_number() && is_fully_judged(reward);
      add_figure(
          of_file, str(name, ": ", figure, "@", k), value,
          has_interval ? widest_interval(value.get<double>(), static_cast<double>(num_prompts)) : "none",
          table);
    }
  }
}

}  // namespace

Table evaluations_table(std::span<const std::filesystem::path> files) {
  Table table{
      "Results of cohort eval. A file has no spread of a mean. The interval of pass@k is the widest that "
      "its value and the number of prompts allow (Wilson's), if every completion was judged.",
      {"file", "model", "input", "prompts", "figure", "value", "95 % interval"},
      {}};
  for (const std::filesystem::path& file : files) {
    const Json evaluation = read_json(file);
    if (!evaluation.is_object() || !evaluation.contains("model") || !evaluation.contains("mean"))
      throw FormatError(str(file.string(), ": --evaluation: this is no file of cohort eval --output"));
    try {
      const auto num_prompts = evaluation.value("num_prompts", int64_t{0});
      const std::vector<std::string> of_file{file.string(), string_or_json(evaluation["model"]),
                                             string_or_json(evaluation.value("input", Json("-"))),
                                             std::to_string(num_prompts)};
      if (!evaluation.contains("rewards")) {
        add_reward(of_file, evaluation.value("reward", "reward"), evaluation, num_prompts, table);
        continue;
      }
      add_figure(of_file, "mean of the weighted sum", evaluation["mean"], "none", table);
      for (const auto& [name, reward] : evaluation["rewards"].items())
        add_reward(of_file, name, reward, num_prompts, table);
    } catch (const std::exception& error) {
      throw FormatError(str(file.string(), ": --evaluation: ", error.what()));
    }
  }
  return table;
}

}  // namespace cohort
