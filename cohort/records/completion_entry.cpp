// The entry of a line, read without its texts and token ids.
#include <limits>

#include "cohort/core/error.h"
#include "cohort/records/completion_index.h"
#include "cohort/records/json_scan.h"
#include "libs/common/hash.h"

namespace cohort {
namespace {

float score_of(std::optional<double> number) {
  return number ? static_cast<float>(*number) : std::numeric_limits<float>::quiet_NaN();
}

/// The text of a string without its quotes; of another value nothing.
std::string text_of(std::string_view value) {
  if (!value.starts_with('"')) return "";
  return unescaped_json(value.substr(1, value.size() - 2)).value_or("");
}

/// {"accuracy": {"status": "ok", ...}, ...}
bool has_failed_reward(std::string_view rewards) {
  JsonMembers functions(rewards);
  while (functions.next()) {
    JsonMembers result(functions.value());
    while (result.next()) {
      if (result.key() != "status") continue;
      const std::string status = text_of(result.value());
      if (status != "ok" && status != "skipped") return true;
    }
  }
  return false;
}

/// The flag that a member sets; 0 for one that sets none.
uint32_t flag_of(std::string_view key, std::string_view value) {
  const auto flag_if = [](bool is_set, CompletionFlag flag) {
    return is_set ? static_cast<uint32_t>(flag) : 0;
  };
  const bool is_given = value != "null" && value != "false" && value != "[]" && value != "\"\"";
  if (key == "finish_reason") return flag_if(text_of(value) == "length", kIsCut);
  if (key == "masked") return flag_if(is_given, kIsMasked);
  if (key == "untrained") return flag_if(is_given, kIsUntrained);
  if (key == "rewards") return flag_if(has_failed_reward(value), kHasFailedReward);
  if (key == "injected") return flag_if(is_given, kHasInjected);
  if (key == "demonstration") return flag_if(is_given, kIsDemonstration);
  if (key == "environment_failure") return flag_if(is_given, kHasFailedEnvironment);
  return 0;
}

[[noreturn]] void refuse_line(int64_t place, const char* why) {
  throw FormatError(str("the line at byte ", place, " is no completion, it ", why, ": restore the file"));
}

uint32_t step_of_line(std::string_view value, int64_t place) {
  const std::optional<int64_t> number = json_integer(value);
  if (!number || *number < 0 || *number > std::numeric_limits<uint32_t>::max())
    refuse_line(place, "has a step that is no number");
  return static_cast<uint32_t>(*number);
}

}  // namespace

CompletionEntry completion_entry(std::string_view line, int64_t place, uint32_t file) {
  CompletionEntry entry{.place = place, .prompt = fnv1a(""), .file = file};
  entry.length = static_cast<uint32_t>(line.size());
  entry.reward = entry.advantage = std::numeric_limits<float>::quiet_NaN();
  bool has_step = false;
  JsonMembers members(line);
  while (members.next()) {
    const std::string_view key = members.key(), value = members.value();
    if (key == "step") {
      entry.step = step_of_line(value, place);
      has_step = true;
    } else if (key == "prompt_id") {
      entry.prompt = fnv1a(text_of(value));
    } else if (key == "sample") {
      entry.sample = static_cast<int32_t>(json_integer(value).value_or(0));
    } else if (key == "reward") {
      entry.reward = score_of(members.number());
    } else if (key == "advantage") {
      entry.advantage = score_of(members.number());
    } else if (key == "logprobs") {
      entry.num_tokens = static_cast<uint32_t>(count_json_scalars(value));
    } else {
      entry.flags |= flag_of(key, value);
    }
  }
  if (members.is_damaged()) refuse_line(place, "is damaged");
  if (!has_step) refuse_line(place, "has no step");
  return entry;
}

}  // namespace cohort
