#include "libs/jinja/internal/globals.h"

#include <algorithm>

#include "libs/common/str.h"
#include "libs/jinja/internal/callable.h"
#include "libs/jinja/internal/operations.h"
#include "libs/jinja/template.h"

namespace cohort::jinja {
namespace {

/// The sandbox's limit.
constexpr int64_t kMaxRange = 100'000;

Value range(Runtime& runtime, const Arguments& arguments) {
  const auto a =
      bind("range()", arguments, {{"start", false, true}, {"stop", true, true}, {"step", true, true}});
  const int64_t first = integer_argument(a[0], "range()");
  const bool only_stop = a[1].is_missing();
  const int64_t start = only_stop ? 0 : first;
  const int64_t stop = only_stop ? first : integer_argument(a[1], "range()");
  const int64_t step = a[2].is_missing() ? 1 : integer_argument(a[2], "range()");
  if (step == 0) throw TemplateError("range() arg 3 must not be zero");
  constexpr int64_t kFar = int64_t{1} << 61;
  const bool far = std::max({start, stop, step}) > kFar || std::min({start, stop, step}) < -kFar;
  if (far || Range{start, stop, step}.size() > kMaxRange)
    throw TemplateError(
        str("Range too big. The sandbox blocks ranges larger than MAX_RANGE (", kMaxRange, ")."));
  runtime.allocate(64);
  return std::make_shared<const Range>(Range{start, stop, step});
}

/// dict(mapping or pairs, key=value, ...).
Dict make_dict(Runtime& runtime, const Arguments& arguments, const char* function) {
  if (arguments.positional.size() > 1) throw_type_error(str(function, " expected at most 1 argument"));
  Dict dict;
  if (!arguments.positional.empty()) {
    const Value& source = arguments.positional[0];
    if (const Dict* other = source.get<Dict>()) {
      for (const auto& [key, value] : other->entries()) dict.set(runtime, key, value);
    } else {
      for_each_item(runtime, source, [&](const Value& item) {
        const std::vector<Value> pair = items_of(runtime, item);
        if (pair.size() != 2)
          throw TemplateError(str(function, ": an element has length ", pair.size(), "; 2 is required"));
        dict.set(runtime, pair[0], pair[1]);
        return true;
      });
    }
  }
  for (const auto& [key, value] : arguments.keyword) dict.set(runtime, runtime.text(key), value);
  return dict;
}

Value dict_function(Runtime& runtime, const Arguments& arguments) {
  return runtime.dict(make_dict(runtime, arguments, "dict()"));
}

void check_name(std::string_view name) {
  if (!name.starts_with("_")) return;
  throw TemplateError(
      str("Chat templates cannot store underscore-prefixed attributes on a namespace, but got '", name,
          "'. Please rename the attribute."));
}

Value namespace_function(Runtime& runtime, const Arguments& arguments) {
  Dict dict = make_dict(runtime, arguments, "namespace()");
  for (const auto& [key, value] : dict.entries()) {
    if (const Text* name = key.get<Text>()) check_name(name->utf8);
  }
  const Value names = runtime.make_namespace();
  names.get_namespace()->attributes = std::move(dict);
  return names;
}

Value raise_exception(Runtime& runtime, const Arguments& arguments) {
  const auto a = bind("raise_exception()", arguments, {{"message"}});
  throw TemplateError(to_text(runtime, a[0]));
}

/// One conversion of strftime as Python's datetime has it without a time zone.
std::string format_time(const std::tm& now, const std::string& conversion) {
  const char type = conversion.back();
  if (type == 'f') return "000000";
  if (type == 'z' || type == 'Z') return "";
  if (std::string_view("aAwdbBmyYHIpMSjUWcxXGuVCDeFghklnrRtTP%").find(type) == std::string_view::npos)
    throw TemplateError(str("strftime_now(): ", conversion, " is not supported"));
  char buffer[128];
  return {buffer, std::strftime(buffer, sizeof buffer, conversion.c_str(), &now)};
}

Value strftime_now(Runtime& runtime, const Arguments& arguments) {
  const auto a = bind("strftime_now()", arguments, {{"format"}});
  const std::string& format = text_argument(a[0], "strftime_now()");
  std::string result;
  for (size_t pos = 0; pos < format.size(); ++pos) {
    runtime.step();
    if (format[pos] != '%' || pos + 1 == format.size()) {
      result += format[pos];
      continue;
    }
    const size_t start = pos++;
    if (std::string_view("-_0^#").find(format[pos]) != std::string_view::npos && pos + 1 < format.size())
      ++pos;
    result += format_time(runtime.now(), format.substr(start, pos - start + 1));
    runtime.allocate(64);
  }
  return runtime.text(std::move(result));
}

/// joiner(): nothing when called first, the separator afterwards.
class Joiner : public Callable {
 public:
  explicit Joiner(Value separator) : separator_(std::move(separator)) {
    depth = container_depth(separator_) + 1;
  }
  Value call(Runtime& runtime, const Arguments& arguments) const override {
    bind("joiner", arguments, {});
    return std::exchange(used_, true) ? separator_ : runtime.text("");
  }

 private:
  Value separator_;
  mutable bool used_ = false;
};

Value joiner(Runtime& runtime, const Arguments& arguments) {
  const auto a = bind("joiner()", arguments, {{"sep", true}});
  const Value separator = a[0].is_missing() ? runtime.text(", ") : a[0];
  check_depth(container_depth(separator) + 1);
  return std::shared_ptr<const Callable>(std::make_shared<Joiner>(separator));
}

struct Entry {
  std::string_view name;
  NativeFunction function;
};

constexpr Entry kGlobals[] = {{"dict", dict_function},
                              {"joiner", joiner},
                              {"namespace", namespace_function},
                              {"raise_exception", raise_exception},
                              {"range", range},
                              {"strftime_now", strftime_now}};

}  // namespace

Value find_global(std::string_view name) {
  for (const Entry& entry : kGlobals) {
    if (entry.name == name) return make_function(entry.function);
  }
  if (name == "cycler" || name == "lipsum")
    throw TemplateError(str("the function ", name, "() is not supported in chat templates"));
  return {};
}

void set_namespace_attribute(Runtime& runtime, Namespace& names, const std::string& name,
                             const Value& value) {
  check_name(name);
  names.attributes.set(runtime, runtime.text(name), value);
}

}  // namespace cohort::jinja
