#include "cohort/text/post_processor.h"

#include "cohort/core/error.h"
#include "libs/common/str.h"
#include "libs/common/unicode.h"
#include "libs/common/utf8.h"

namespace cohort {
namespace {

constexpr const char* kWhere = "post_processor";

/// U+0120 is how the byte-level alphabet spells a space.
bool counts_as_space(char32_t c) { return c == 0x120 || white_space().contains(c); }

/// The ids of the special token that the template calls `name`.
std::vector<int32_t> special_token_ids(const TokenizerJson& config, const std::string& name) {
  const TokenizerJson& token =
      field(field(config, "special_tokens", kWhere), name, str(kWhere, " special_tokens"));
  const TokenizerJson& ids = field(token, "ids", str(kWhere, " special token ", name));
  if (!ids.is_array())
    throw FormatError(str("post_processor: \"ids\" of special token ", name, " must be an array"));
  std::vector<int32_t> out;
  for (const TokenizerJson& id : ids)
    out.push_back(id_field({{"ids", id}}, "ids", str(kWhere, " special token ", name)));
  return out;
}

PostProcessor parse_template(const TokenizerJson& config) {
  PostProcessor out;
  int num_texts = 0;
  if (!field(config, "single", kWhere).is_array())
    throw FormatError("post_processor: \"single\" must be an array");
  for (const TokenizerJson& piece : field(config, "single", kWhere)) {
    if (const TokenizerJson& special = field(piece, "SpecialToken", kWhere); !special.is_null()) {
      std::vector<int32_t>& side = num_texts == 0 ? out.prefix : out.suffix;
      for (const int32_t id : special_token_ids(config, string_field(special, "id", kWhere)))
        side.push_back(id);
      continue;
    }
    const std::string name = string_field(field(piece, "Sequence", kWhere), "id", kWhere);
    if (name != "A")
      throw FormatError(str("post_processor: the template of a single text names the text ", name));
    ++num_texts;
  }
  if (num_texts != 1)
    throw FormatError("post_processor: the template \"single\" must hold the text A exactly once");
  return out;
}

/// ["</s>", 2]: a token and its id.
int32_t pair_id(const TokenizerJson& config, const char* key) {
  const TokenizerJson& pair = field(config, key, kWhere);
  if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string())
    throw FormatError(str("post_processor: ", quoted_name(key), " must be a token and its id"));
  return id_field({{key, pair[1]}}, key, kWhere);
}

}  // namespace

PostProcessor parse_post_processor(const TokenizerJson& config) {
  PostProcessor out;
  bool adds_tokens = false;
  bool joins_prefix = false;  // the text's tokens were put together with those around them
  for (const TokenizerJson& step : flatten_sequence(config, "processors", kWhere)) {
    const std::string type = string_field(step, "type", kWhere);
    const bool is_bert = type == "BertProcessing" || type == "RobertaProcessing";
    if (type != "ByteLevel" && type != "TemplateProcessing" && !is_bert) {
      throw_unsupported(kWhere, type,
                        "ByteLevel, TemplateProcessing, RobertaProcessing, BertProcessing, Sequence");
    }
    if (type == "ByteLevel" || type == "RobertaProcessing") {
      const OffsetTrim trim = {.add_prefix_space = bool_field_or(step, "add_prefix_space", kWhere, true),
                               .behind_prefix = joins_prefix};
      if (bool_field_or(step, "trim_offsets", kWhere, true)) out.trims.push_back(trim);
    }
    if (type == "ByteLevel") continue;
    if (adds_tokens)
      throw FormatError("post_processor: several processors that add tokens are not supported");
    adds_tokens = true;
    const PostProcessor added =
        is_bert ? PostProcessor{{pair_id(step, "cls")}, {pair_id(step, "sep")}, {}} : parse_template(step);
    out.prefix = added.prefix;
    out.suffix = added.suffix;
    joins_prefix = is_bert;
  }
  return out;
}

int32_t leading_spaces(std::string_view spelling) {
  int32_t count = 0;
  for (size_t pos = 0; pos < spelling.size() && counts_as_space(next_code_point(spelling, pos));) ++count;
  return count;
}

int32_t trailing_spaces(std::string_view spelling) {
  int32_t count = 0;
  while (!spelling.empty() && counts_as_space(last_code_point(spelling))) {
    while ((static_cast<uint8_t>(spelling.back()) & 0xC0) == 0x80) spelling.remove_suffix(1);
    spelling.remove_suffix(1);
    ++count;
  }
  return count;
}

}  // namespace cohort
