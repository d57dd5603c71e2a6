#include "cohort/rewards/batch_protocol.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "cohort/core/exact_json.h"
#include "libs/common/excerpt.h"

namespace cohort {
namespace {

Json request_row(size_t index, const RewardRow& row) {
  Json request = {{"id", std::to_string(index)},
                  {"prompt", row.prompt.text},
                  {"completion", row.completion.text},
                  {"completion_ids", row.completion.token_ids}};
  if (row.completion.episode) request["completion_messages"] = row.completion.episode->messages;
  for (const auto& [name, value] : row.prompt.fields.items()) {
    const std::string key = name == "id" ? "id_column" : name;
    if (!request.contains(key)) request[key] = value;
  }
  return request;
}

bool is_token_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '-' || c == '.';
}

bool is_nonfinite(const std::string& token) {
  char* end = nullptr;
  const double value = std::strtod(token.c_str(), &end);
  return *end == '\0' && !std::isfinite(value);
}

/// The code unit of an escape such as \u00e4 at `at`; -1 where none stands there.
int escaped_unit(const std::string& text, size_t at) {
  constexpr size_t kBegin = 2, kDigits = 4;
  int unit = -1;
  if (at + kBegin + kDigits > text.size() || text.compare(at, kBegin, "\\u") != 0) return unit;
  const char *first = text.data() + at + kBegin, *last = first + kDigits;
  return std::from_chars(first, last, unit, 16).ptr == last ? unit : -1;
}

/// Appends the escape at `at` and returns where it ends. Half a surrogate pair becomes U+FFFD.
size_t append_escape(const std::string& text, size_t at, std::string& out) {
  constexpr size_t kLength = 6;
  const auto is_low = [](int unit) { return unit >= 0xDC00 && unit <= 0xDFFF; };
  const int unit = escaped_unit(text, at);
  const bool is_high = unit >= 0xD800 && unit <= 0xDBFF;
  if (is_low(unit) || (is_high && !is_low(escaped_unit(text, at + kLength)))) {
    out += "\\ufffd";
    return at + kLength;
  }
  const size_t length = is_high ? 2 * kLength : 2;
  out.append(text, at, length);
  return at + length;
}

/// NaN, Infinity and numbers beyond a double become strings, and half surrogate pairs U+FFFD. Python writes
/// them, which JSON does not have: one such score or text must not cost the other rows of the reply.
std::string mend_json(const std::string& text) {
  std::string out;
  bool in_string = false;
  for (size_t i = 0; i < text.size();) {
    if (in_string && text[i] == '\\') {
      i = append_escape(text, i, out);
    } else if (in_string || !is_token_char(text[i])) {
      in_string = in_string != (text[i] == '"');
      out += text[i++];
    } else {
      const size_t begin = i;
      while (i < text.size() && is_token_char(text[i])) ++i;
      const std::string token = text.substr(begin, i - begin);
      out += is_nonfinite(token) ? '"' + token + '"' : token;
    }
  }
  return out;
}

const Json* find_member(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto member = object.find(key);
  return member == object.end() ? nullptr : &*member;
}

std::string as_text(const Json& value, const CleanText& clean) {
  std::string text = value.is_string() ? value.get<std::string>() : to_lenient_json_text(value);
  return clean ? clean(std::move(text)) : text;
}

/// A message's end: 500 bytes of it, without the character that they would cut.
std::string bounded(std::string text) {
  constexpr size_t kMaxBytes = 500;
  if (text.size() <= kMaxBytes) return text;
  size_t end = kMaxBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

/// The place of the row that `answer` is for. Throws FormatError where that is none.
size_t row_of(const Json& answer, size_t num_rows, const CleanText& clean) {
  const Json* id = find_member(answer, "id");
  if (id == nullptr || !id->is_string())
    throw FormatError(str("a reward has no \"id\" that is a string: ", excerpt(as_text(answer, clean))));
  const std::string text = id->get<std::string>();
  size_t row = num_rows;
  std::from_chars(text.data(), text.data() + text.size(), row);
  if (row >= num_rows || text != std::to_string(row))
    throw FormatError(
        str("a reward is for the row ", excerpt(as_text(*id, clean)), ", which was not asked for"));
  return row;
}

RewardResult to_result(const Json& answer, const CleanText& clean) {
  const Json* detail = find_member(answer, "detail");
  const std::string text = detail == nullptr ? "" : as_text(*detail, clean);
  if (const Json* error = find_member(answer, "error"); error != nullptr && !error->is_null())
    return {0.0, RewardStatus::kError, as_text(*error, clean)};
  const Json* score = find_member(answer, "score");
  if (score == nullptr) return {0.0, RewardStatus::kError, "its reward has no \"score\""};
  if (score->is_null()) return {0.0, RewardStatus::kSkipped, text.empty() ? "no reward was given" : text};
  if (!score->is_number() || !std::isfinite(score->get<double>())) {
    return {0.0, RewardStatus::kError,
            str("its score is no finite number: ", excerpt(as_text(*score, clean)))};
  }
  return {score->get<double>(), RewardStatus::kOk, text};
}

/// The list of rewards in a reply to the request `id`. Throws FormatError for anything else.
Json parse_rewards(const std::string& text, const std::string& id, const CleanText& clean) {
  Json reply = parse_json_line(mend_json(text), "reply", 1);
  const Json* reply_id = find_member(reply, "id");
  if (reply_id == nullptr || *reply_id != Json(id)) {
    throw FormatError(str("the reply's \"id\" is ",
                          reply_id == nullptr ? "missing" : excerpt(as_text(*reply_id, clean)), " and not \"",
                          id, "\", that of the request"));
  }
  const Json* rewards = find_member(reply, "rewards");
  if (rewards == nullptr || !rewards->is_array()) throw FormatError("the reply has no list \"rewards\"");
  return *rewards;
}

/// Throws FormatError where no row's reward can be trusted.
std::vector<RewardResult> assign(const Json& rewards, size_t num_rows, const CleanText& clean) {
  std::vector<std::optional<RewardResult>> results(num_rows);
  for (const Json& answer : rewards) {
    std::optional<RewardResult>& result = results[row_of(answer, num_rows, clean)];
    result = !result ? to_result(answer, clean)
                     : RewardResult{0.0, RewardStatus::kError, "the reply has several rewards for it"};
  }
  std::vector<RewardResult> complete;
  complete.reserve(results.size());
  for (std::optional<RewardResult>& result : results) {
    complete.push_back(result ? *std::move(result)
                              : RewardResult{0.0, RewardStatus::kError, "the reply has no reward for it"});
  }
  return complete;
}

}  // namespace

std::string batch_request(const std::string& id, std::span<const RewardRow> rows) {
  Json list = Json::array();
  for (size_t i = 0; i < rows.size(); ++i) list.push_back(request_row(i, rows[i]));
  Json request = {{"id", id}};
  request["rows"] = std::move(list);
  // A sampled text may end inside a UTF-8 character.
  return to_lenient_json_text(request);
}

std::vector<RewardResult> read_batch_reply(const std::string& reply, const std::string& id,
                                           std::span<const RewardRow> rows, const CleanText& clean) {
  if (reply.size() > kMaxReplyBytes)
    return fail_rows(rows, RewardStatus::kError, "the reply is longer than 4 MiB");
  std::vector<RewardResult> results;
  try {
    results = assign(parse_rewards(reply, id, clean), rows.size(), clean);
  } catch (const FormatError& error) {
    return fail_rows(rows, RewardStatus::kError, bounded(error.what()));
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    results[i].detail = bounded(std::move(results[i].detail));
    if (results[i].status != RewardStatus::kError) continue;
    results[i].detail = str(rows[i].prompt.id, ": ", results[i].detail);
  }
  return results;
}

bool is_batch_reply(const std::string& reply, const std::string& id) {
  try {
    parse_rewards(reply, id, {});
    return true;
  } catch (const FormatError&) {
    return false;
  }
}

}  // namespace cohort
