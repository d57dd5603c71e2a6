#include "libs/json_schema/internal/references.h"

#include <algorithm>
#include <charconv>

#include "libs/common/excerpt.h"
#include "libs/common/str.h"
#include "libs/json_schema/internal/keywords.h"
#include "libs/json_schema/schema.h"

namespace cohort::json_schema {
namespace {

bool has_scheme(const std::string& uri) {
  const size_t colon = uri.find_first_of(":/?#");
  return colon != std::string::npos && colon > 0 && uri[colon] == ':';
}

// RFC 3986, section 5.2, without the removal of dot segments. `base` has no fragment.
std::string join_uri(const std::string& base, std::string reference) {
  if (reference.empty() || reference[0] == '#') return base + reference;
  if (has_scheme(reference)) return reference;
  if (reference.starts_with("//")) return base.substr(0, base.find(':') + 1) + reference;
  if (reference.starts_with("./")) reference.erase(0, 2);
  const size_t authority = base.find("://");
  const size_t path =
      authority == std::string::npos ? 0 : std::min(base.find('/', authority + 3), base.size());
  if (reference[0] == '/') return base.substr(0, path) + reference;
  const size_t slash = base.rfind('/');
  if (slash == std::string::npos || slash < path)
    return base.substr(0, path) + (path > 0 ? "/" : "") + reference;
  return base.substr(0, slash + 1) + reference;
}

std::string percent_decoded(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    const char* begin = text.data() + i + 1;
    const bool is_code =
        text[i] == '%' && i + 2 < text.size() && std::from_chars(begin, begin + 2, byte, 16).ptr == begin + 2;
    result += is_code ? static_cast<char>(byte) : text[i];
    if (is_code) i += 2;
  }
  return result;
}

std::string unescaped(std::string_view step) {
  std::string result;
  for (size_t i = 0; i < step.size(); ++i) {
    const bool is_escape =
        step[i] == '~' && i + 1 < step.size() && (step[i + 1] == '0' || step[i + 1] == '1');
    result += !is_escape ? step[i] : step[++i] == '0' ? '~' : '/';
  }
  return result;
}

// One step of a JSON pointer down; nullptr where there is nothing.
const Value* child_of(const Value& value, const std::string& step) {
  if (value.kind == Value::Kind::kObject) return value.find(step);
  size_t index = 0;
  const char* end = step.data() + step.size();
  const bool is_index = !step.empty() && std::from_chars(step.data(), end, index).ptr == end;
  return value.kind == Value::Kind::kArray && is_index && index < value.items.size() ? &value.items[index]
                                                                                     : nullptr;
}

const std::string* text_member(const Value& schema, const char* key, const std::string& place) {
  const Value* member = schema.find(key);
  if (member == nullptr) return nullptr;
  if (member->kind != Value::Kind::kString)
    throw SchemaError(str("schema at ", excerpt(place), ": \"", key, "\" must be a text"));
  return &member->text;
}

}  // namespace

References::References(const Value& document) {
  root_base_ = base_within(document, "");
  targets_[root_base_] = {&document, root_base_, ""};
  index(document, "", "");
}

std::string References::base_within(const Value& schema, const std::string& base) {
  const Value* id = schema.find("$id");
  // In draft-07 an $id may be an anchor alone.
  if (id == nullptr || id->kind != Value::Kind::kString || id->text.starts_with('#')) return base;
  const std::string uri = join_uri(base, id->text);
  return uri.substr(0, uri.find('#'));
}

void References::add(const std::string& uri, const Value& schema, const std::string& base,
                     const std::string& place) {
  const auto [entry, is_new] = targets_.emplace(uri, Target{&schema, base, place});
  if (!is_new && entry->second.schema != &schema)
    throw SchemaError(str("schema at ", excerpt(place), ": ", excerpt(uri), " names another schema already"));
}

void References::index(const Value& schema, const std::string& base, const std::string& place) {
  if (schema.kind != Value::Kind::kObject) return;
  const std::string within = base_within(schema, base);
  if (const std::string* id = text_member(schema, "$id", place)) {
    const bool is_anchor = id->starts_with('#') && id->size() > 1;
    add(is_anchor ? within + *id : within, schema, within, place);
  }
  if (const std::string* anchor = text_member(schema, "$anchor", place))
    add(within + "#" + *anchor, schema, within, place);
  for_each_subschema(schema, place, [&](const Value& inner, const std::string& inner_place) {
    index(inner, within, inner_place);
  });
}

References::Target References::resolve(const std::string& reference, const std::string& base,
                                       const std::string& place) const {
  const std::string uri = join_uri(base, reference);
  const auto fail = [&](const char* what) {
    throw SchemaError(str("schema at ", excerpt(place), ": $ref ", excerpt(reference), " ", what));
  };
  const size_t mark = std::min(uri.find('#'), uri.size());
  const std::string fragment = percent_decoded(std::string_view(uri).substr(std::min(mark + 1, uri.size())));
  const bool is_pointer = fragment.empty() || fragment[0] == '/';
  const auto entry = targets_.find(is_pointer ? uri.substr(0, mark) : uri.substr(0, mark) + "#" + fragment);
  if (entry == targets_.end()) fail("leads out of the document, or to nothing");
  Target target = entry->second;
  for (size_t begin = 1; is_pointer && begin <= fragment.size();) {
    const size_t end = std::min(fragment.find('/', begin), fragment.size());
    const std::string step = unescaped(std::string_view(fragment).substr(begin, end - begin));
    target.schema = child_of(*target.schema, step);
    if (target.schema == nullptr) fail("leads to nothing");
    target.place = join_pointer(target.place, step);
    target.base = base_within(*target.schema, target.base);
    begin = end + 1;
  }
  return target;
}

}  // namespace cohort::json_schema
