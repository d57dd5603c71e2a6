#include "libs/json_schema/internal/compiler.h"

#include "libs/common/excerpt.h"
#include "libs/common/str.h"
#include "libs/json_schema/internal/keyword_values.h"

namespace cohort::json_schema {
namespace {

constexpr size_t kMaxNodes = 10000;

Dialect read_dialect(const Value& document) {
  const Value* uri = document.find("$schema");
  if (uri == nullptr) return Dialect::kAny;
  std::string name = uri->text;
  if (name.ends_with('#')) name.pop_back();
  if (name.ends_with("://json-schema.org/draft/2020-12/schema")) return Dialect::k2020;
  if (name.ends_with("://json-schema.org/draft-07/schema")) return Dialect::k07;
  refuse("", "$schema", str("is ", describe(*uri), "; known are draft 2020-12 and draft-07"));
}

// A keyword that does something only together with another one.
void check_company(const Value& schema, const char* keyword, const char* other, const std::string& place) {
  if (schema.find(keyword) != nullptr && schema.find(other) == nullptr)
    refuse(place, keyword, str("has no effect without \"", other, "\""));
}

}  // namespace

Compiler::Compiler(Schema::Compiled& schema)
    : schema_(schema), dialect_(read_dialect(schema.document)), references_(schema.document) {}

void Compiler::run() {
  schema_.root = node_of(schema_.document, "", "");
  // Not by recursion: references may form chains of any length.
  for (size_t i = 0; i < pending_.size(); ++i) {
    const Source source = pending_[i];
    compile(schema_.nodes[i], source);
  }
  std::vector<std::string> places;
  places.reserve(pending_.size());
  for (const Source& source : pending_) places.push_back(source.place);
  check_loops(schema_.nodes, places);
}

NodeId Compiler::node_of(const Value& schema, const std::string& base, const std::string& place) {
  const auto [entry, is_new] = ids_.emplace(&schema, static_cast<NodeId>(schema_.nodes.size()));
  if (!is_new) return entry->second;
  if (schema_.nodes.size() == kMaxNodes)
    throw SchemaError(str("the schema holds more than ", kMaxNodes, " schemas"));
  schema_.nodes.emplace_back();
  pending_.push_back({schema, References::base_within(schema, base), place});
  return entry->second;
}

NodeId Compiler::node_at(const Source& source, const char* key) {
  const Value* schema = source.find(key);
  return schema == nullptr ? kNoNode : node_of(*schema, source.base, join_pointer(source.place, key));
}

std::vector<NodeId> Compiler::nodes_at(const Source& source, const char* key) {
  const Value* list = source.find(key);
  if (list == nullptr) return {};
  if (list->kind != Value::Kind::kArray || list->items.empty())
    refuse(source.place, key, "must be a list of schemas");
  std::vector<NodeId> nodes;
  nodes.reserve(list->items.size());
  const std::string place = join_pointer(source.place, key);
  for (size_t i = 0; i < list->items.size(); ++i)
    nodes.push_back(node_of(list->items[i], source.base, join_pointer(place, std::to_string(i))));
  return nodes;
}

void Compiler::compile(Node& node, const Source& source) {
  const Value& schema = source.schema;
  if (schema.kind == Value::Kind::kBoolean) {
    node.is_never = !schema.boolean;
    return;
  }
  if (schema.kind != Value::Kind::kObject)
    throw SchemaError(str("schema at ", excerpt(source.place), ": must be an object or a boolean"));
  if (&schema != &schema_.document && source.find("$schema") != nullptr)
    refuse(source.place, "$schema", "must stand at the top of the document alone");
  check_keywords(schema, dialect_, source.place);
  read_scalars(node, source);
  read_array(node, source);
  read_object(node, source);
  read_dependencies(node, source);
  read_in_place(node, source);
  // What no reference leads to must be understood, too.
  for (const char* key : {"$defs", "definitions"}) {
    for (const Member& member : members_of(schema, key, source.place))
      node_of(member.value, source.base, join_pointer(join_pointer(source.place, key), member.key));
  }
}

void Compiler::read_scalars(Node& node, const Source& source) const {
  const Value& schema = source.schema;
  node.types = read_types(schema, source.place);
  node.choices = source.find("enum");
  if (node.choices != nullptr && node.choices->kind != Value::Kind::kArray)
    refuse(source.place, "enum", "must be a list");
  node.constant = source.find("const");
  node.minimum = read_number(schema, "minimum", source.place);
  node.maximum = read_number(schema, "maximum", source.place);
  node.exclusive_minimum = read_number(schema, "exclusiveMinimum", source.place);
  node.exclusive_maximum = read_number(schema, "exclusiveMaximum", source.place);
  node.multiple_of = read_number(schema, "multipleOf", source.place);
  if (node.multiple_of && (node.multiple_of->is_zero() || node.multiple_of->is_negative))
    refuse(source.place, "multipleOf", "must be above 0");
  node.length = read_range(schema, "minLength", "maxLength", source.place);
  if (const Value* pattern = source.find("pattern")) {
    if (pattern->kind != Value::Kind::kString) refuse(source.place, "pattern", "must be a text");
    node.pattern = read_pattern(pattern->text, "pattern", source.place);
  }
}

void Compiler::read_array(Node& node, const Source& source) {
  const Value& schema = source.schema;
  node.num_items = read_range(schema, "minItems", "maxItems", source.place);
  if (const Value* unique = source.find("uniqueItems")) {
    if (unique->kind != Value::Kind::kBoolean) refuse(source.place, "uniqueItems", "must be true or false");
    node.has_unique_items = unique->boolean;
  }
  const Value* items = source.find("items");
  const bool is_list = items != nullptr && items->kind == Value::Kind::kArray;
  if (source.find("additionalItems") != nullptr && !is_list)
    refuse(source.place, "additionalItems", "has no effect unless \"items\" is a list");
  if (is_list && source.find("prefixItems") != nullptr)
    refuse(source.place, "items", "is a list beside \"prefixItems\"");
  if (is_list && items->items.empty()) refuse(source.place, "items", "must not be an empty list");
  node.prefix_items = nodes_at(source, is_list ? "items" : "prefixItems");
  node.items = node_at(source, is_list ? "additionalItems" : "items");
  check_company(schema, "minContains", "contains", source.place);
  check_company(schema, "maxContains", "contains", source.place);
  node.contains = node_at(source, "contains");
  node.num_contained = read_range(schema, "minContains", "maxContains", source.place);
  if (source.find("minContains") == nullptr) node.num_contained.least = 1;
}

void Compiler::read_object(Node& node, const Source& source) {
  const Value& schema = source.schema;
  node.num_properties = read_range(schema, "minProperties", "maxProperties", source.place);
  if (const Value* required = source.find("required"))
    node.required = read_texts(*required, "required", source.place);
  const std::string properties = join_pointer(source.place, "properties");
  for (const Member& member : members_of(schema, "properties", source.place))
    node.properties[member.key] = node_of(member.value, source.base, join_pointer(properties, member.key));
  const std::string patterns = join_pointer(source.place, "patternProperties");
  for (const Member& member : members_of(schema, "patternProperties", source.place)) {
    node.pattern_properties.push_back(
        {read_pattern(member.key, "patternProperties", source.place),
         node_of(member.value, source.base, join_pointer(patterns, member.key))});
  }
  node.additional_properties = node_at(source, "additionalProperties");
  node.property_names = node_at(source, "propertyNames");
}

void Compiler::read_dependencies(Node& node, const Source& source) {
  for (const char* keyword : {"dependentRequired", "dependentSchemas", "dependencies"}) {
    const std::string place = join_pointer(source.place, keyword);
    for (const Member& member : members_of(source.schema, keyword, source.place)) {
      const bool is_list = member.value.kind == Value::Kind::kArray;
      const bool takes_lists = std::string_view(keyword) != "dependentSchemas";
      const bool takes_schemas = std::string_view(keyword) != "dependentRequired";
      if (!(is_list ? takes_lists : takes_schemas))
        refuse(source.place, keyword, is_list ? "must hold schemas" : "must hold lists of keys");
      Dependency dependency{member.key, {}, kNoNode};
      if (is_list) {
        dependency.required = read_texts(member.value, keyword, source.place);
      } else {
        dependency.schema = node_of(member.value, source.base, join_pointer(place, member.key));
      }
      node.dependencies.push_back(std::move(dependency));
    }
  }
}

void Compiler::read_in_place(Node& node, const Source& source) {
  const Value& schema = source.schema;
  if (const Value* reference = source.find("$ref")) {
    if (reference->kind != Value::Kind::kString) refuse(source.place, "$ref", "must be a text");
    const References::Target target = references_.resolve(reference->text, source.base, source.place);
    node.reference = node_of(*target.schema, target.base, target.place);
  }
  node.all_of = nodes_at(source, "allOf");
  node.any_of = nodes_at(source, "anyOf");
  node.one_of = nodes_at(source, "oneOf");
  node.negated = node_at(source, "not");
  check_company(schema, "then", "if", source.place);
  check_company(schema, "else", "if", source.place);
  node.condition = node_at(source, "if");
  node.consequence = node_at(source, "then");
  node.alternative = node_at(source, "else");
  node.unevaluated_items = node_at(source, "unevaluatedItems");
  node.unevaluated_properties = node_at(source, "unevaluatedProperties");
}

Schema::Schema(Value document) {
  auto compiled = std::make_unique<Compiled>(Compiled{.document = std::move(document)});
  Compiler(*compiled).run();
  compiled_ = std::move(compiled);
}

Schema::~Schema() = default;

}  // namespace cohort::json_schema
