// What a reward outside of this program is asked and answers, as JSON: one request for several completions.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cohort/rewards/reward.h"

namespace cohort {

/// A longer reply is a flood, which nobody need hold.
constexpr size_t kMaxReplyBytes = size_t{4} << 20;

/// {"id": id, "rows": [{"id": "0", "prompt": text, "completion": text, "completion_ids": [...], ...the row's
/// columns}, ...]} on one line; row ids count from 0. The row's own column `id` goes as `id_column`, others
/// of these names not at all.
std::string batch_request(const std::string& id, std::span<const RewardRow> rows);

/// One result per row from {"id": id, "rewards": [{"id": "0", "score": number or null, "detail"?: text},
/// ...]}, in any order; null skips, and "error": text in the place of the score fails the row. Rows that are
/// missing or doubled or whose score is no finite number are kError; an unknown row id, another request id
/// and what is no such object are kError for all. Texts go through `clean`, where it is given, before any is
/// cut.
using CleanText = std::function<std::string(std::string)>;
std::vector<RewardResult> read_batch_reply(const std::string& reply, const std::string& id,
                                           std::span<const RewardRow> rows, const CleanText& clean = {});

/// Whether `reply` answers the request `id` at all, whatever it says of the rows.
bool is_batch_reply(const std::string& reply, const std::string& id);

}  // namespace cohort
