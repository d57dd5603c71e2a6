#include "cohort/text/post_processor.h"

#include "cohort/core/error.h"
#include "cohort/core/str.h"

namespace cohort {
namespace {

const std::string kWhere = "post_processor";

/// The ids of the special token that the template calls `name`.
std::vector<int32_t> special_token_ids(const TokenizerJson& config, const std::string& name) {
  const TokenizerJson& token =
      field(field(config, "special_tokens", kWhere), name, kWhere + " special_tokens");
  const TokenizerJson& ids = field(token, "ids", kWhere + " special token " + name);
  std::vector<int32_t> out;
  for (const TokenizerJson& id : ids)
    out.push_back(id_field({{"ids", id}}, "ids", kWhere + " special token " + name));
  return out;
}

PostProcessor parse_template(const TokenizerJson& config) {
  PostProcessor out;
  int num_texts = 0;
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

}  // namespace

PostProcessor parse_post_processor(const TokenizerJson& config) {
  PostProcessor out;
  for (const TokenizerJson& step : flatten_sequence(config, "processors", kWhere)) {
    const std::string type = string_field(step, "type", kWhere);
    if (type == "ByteLevel") continue;
    if (type != "TemplateProcessing")
      throw_unsupported(kWhere, type, "ByteLevel, TemplateProcessing, Sequence");
    const PostProcessor outer = parse_template(step);
    out.prefix.insert(out.prefix.begin(), outer.prefix.begin(), outer.prefix.end());
    out.suffix.insert(out.suffix.end(), outer.suffix.begin(), outer.suffix.end());
  }
  return out;
}

}  // namespace cohort
