#include "libs/jinja/template.h"

#include <limits>

#include "libs/common/long_integers.h"
#include "libs/common/str.h"
#include "libs/common/utf8.h"
#include "libs/jinja/internal/interpreter.h"
#include "libs/jinja/internal/parser.h"

namespace cohort::jinja {
namespace {

Value from_json(Runtime& runtime, const Json& json);

Dict dict_from_json(Runtime& runtime, const Json& json) {
  Dict dict;
  for (const auto& [key, value] : json.items())
    dict.set(runtime, runtime.text(key), from_json(runtime, value));
  return dict;
}

Value from_json(Runtime& runtime, const Json& json) {
  switch (json.type()) {
    case Json::value_t::null:
      return None();
    case Json::value_t::boolean:
      return json.get<bool>();
    case Json::value_t::number_integer:
      return json.get<int64_t>();
    case Json::value_t::number_unsigned:
      if (json.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
        return make_integer(*BigInteger::parse(json.dump()));
      return json.get<int64_t>();
    case Json::value_t::number_float:
      return json.get<double>();
    case Json::value_t::string:
      return runtime.text(json.get<std::string>());
    case Json::value_t::array: {
      std::vector<Value> items;
      for (const Json& item : json) items.push_back(from_json(runtime, item));
      return runtime.list(std::move(items));
    }
    case Json::value_t::binary:
      return make_integer(*BigInteger::parse(long_integer_digits(json)));
    default:
      return runtime.dict(dict_from_json(runtime, json));
  }
}

}  // namespace

Template::Template(std::string_view source) {
  if (const auto offset = find_invalid_utf8(source))
    throw TemplateError(str("not well-formed UTF-8 at byte ", *offset));
  tree_ = parse(source);
}

Rendered Template::render(const Json& variables, const RenderOptions& options) const {
  Runtime runtime(options.limits, options.now);
  const Dict context = dict_from_json(runtime, variables);
  Interpreter interpreter(runtime, *tree_, context, options.limits.output_bytes);
  std::string text = interpreter.run();
  return {std::move(text), interpreter.generated()};
}

bool Template::marks_generations() const { return tree_->has_generation; }

bool Template::loops_over_content() const { return tree_->loops_over_content; }

}  // namespace cohort::jinja
