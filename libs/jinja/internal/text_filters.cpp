// The filters that make text.
#include <algorithm>

#include "libs/common/utf8.h"
#include "libs/jinja/internal/filters.h"
#include "libs/jinja/internal/operations.h"
#include "libs/jinja/internal/text_methods.h"
#include "libs/jinja/python_text.h"
#include "libs/jinja/template.h"

namespace cohort::jinja {
namespace {

/// A filter that is the method `name` of the value as a string.
Value by_method(Runtime& runtime, const Value& value, const char* name, const Arguments& arguments) {
  return find_text_method(name)(runtime, soft_text(runtime, value), arguments);
}

Value capitalize_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return by_method(runtime, value, "capitalize", arguments);
}
Value lower(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return by_method(runtime, value, "lower", arguments);
}
Value upper(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return by_method(runtime, value, "upper", arguments);
}

Value trim(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const auto a = bind("trim", arguments, {{"chars", true}});
  return by_method(runtime, value, "strip", a[0].is_missing() ? Arguments() : Arguments{{a[0]}, {}});
}

Value center(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const auto a = bind("center", arguments, {{"width", true}});
  return by_method(runtime, value, "center", {{a[0].is_missing() ? Value(int64_t{80}) : a[0]}, {}});
}

/// Words begin behind spaces, hyphens and opening brackets.
Value title(Runtime& runtime, const Value& value, const Arguments& arguments) {
  bind("title", arguments, {});
  const std::string text = to_text(runtime, value);
  runtime.look_through(static_cast<int64_t>(text.size()) * 4);
  std::string result, word;
  const auto flush = [&] {
    if (word.empty()) return;
    const size_t first = byte_offset(word, 1);
    result +=
        to_upper(std::string_view(word).substr(0, first)) + to_lower(std::string_view(word).substr(first));
    word.clear();
  };
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view character = rest.substr(0, byte_offset(rest, 1));
    rest.remove_prefix(character.size());
    const bool separates =
        strip(character, Sides::kBoth).empty() ||
        (character.size() == 1 && std::string_view("-({[<").find(character[0]) != std::string_view::npos);
    if (separates) {
      flush();
      result += character;
    } else {
      word += character;
    }
  }
  flush();
  return runtime.text(std::move(result));
}

Value replace_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const auto a = bind("replace", arguments, {{"old"}, {"new"}, {"count", true}});
  const std::string text = to_text(runtime, value);
  const std::string old = to_text(runtime, a[0]), by = to_text(runtime, a[1]);
  const int64_t most = a[2].is_missing() || a[2].is_none() ? -1 : integer_argument(a[2], "replace");
  runtime.look_through(static_cast<int64_t>(text.size()));
  const int64_t count = count_occurrences(text, old);
  runtime.step(count / 4);
  runtime.allocate_items(count, static_cast<int64_t>(by.size()) + 1);
  return runtime.text(replace(text, old, by, most));
}

Value string(Runtime& runtime, const Value& value, const Arguments& arguments) {
  bind("string", arguments, {});
  return soft_text(runtime, value);
}

Value safe(Runtime& runtime, const Value& value, const Arguments& arguments) {
  bind("safe", arguments, {});
  return runtime.text(to_text(runtime, value), true);
}

Value force_escape(Runtime& runtime, const Value& value, const Arguments& arguments) {
  bind("forceescape", arguments, {});
  const std::string text = to_text(runtime, value);
  runtime.allocate(static_cast<int64_t>(text.size()) * 6);
  return runtime.text(escape_markup(text), true);
}

Value escape(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const Text* text = value.get<Text>();
  return text != nullptr && text->markup ? value : force_escape(runtime, value, arguments);
}

Value format(Runtime& runtime, const Value& value, const Arguments& arguments) {
  if (!arguments.positional.empty() && !arguments.keyword.empty())
    throw TemplateError("can't handle positional and keyword arguments at the same time");
  if (arguments.keyword.empty())
    return format_percent(runtime, soft_text(runtime, value), runtime.tuple(arguments.positional));
  Dict dict;
  for (const auto& [key, item] : arguments.keyword) dict.set(runtime, runtime.text(key), item);
  return format_percent(runtime, soft_text(runtime, value), runtime.dict(std::move(dict)));
}

Value join(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const auto a = bind("join", arguments, {{"d", true}, {"attribute", true}});
  const std::string separator = a[0].is_missing() ? "" : to_text(runtime, a[0]);
  const AttributePath path(runtime, a[1]);
  std::string result;
  bool first = true;
  for_each_item(runtime, value, [&](const Value& item) {
    const std::string text = to_text(runtime, path.of(runtime, item));
    runtime.allocate(static_cast<int64_t>(text.size() + separator.size()));
    if (!first) result += separator;
    first = false;
    result += text;
    return true;
  });
  return runtime.text(std::move(result));
}

std::string spaces(Runtime& runtime, const Value& width, const char* filter) {
  const int64_t count = std::max<int64_t>(integer_argument(width, filter), 0);
  runtime.allocate_items(count, 1);
  return std::string(count, ' ');
}

Value indent(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const auto a = bind("indent", arguments, {{"width", true}, {"first", true}, {"blank", true}});
  const Text* text = value.get<Text>();
  if (text == nullptr) {
    require_defined(value);
    throw_type_error("indent: expected a str, got " + type_name(value));
  }
  std::string space = "    ";
  if (!a[0].is_missing() && a[0].get<Text>() != nullptr) {
    space = a[0].get<Text>()->utf8;
  } else if (!a[0].is_missing()) {
    space = spaces(runtime, a[0], "indent");
  }
  const bool first = !a[1].is_missing() && truth(a[1]), blank = !a[2].is_missing() && truth(a[2]);
  const std::string source = text->utf8 + "\n";
  runtime.allocate(static_cast<int64_t>(source.size()) * 16);
  std::string result;
  bool is_first = true;
  for (const std::string_view line : split_lines(source, false)) {
    const bool indented = is_first ? first : blank || !line.empty();
    runtime.allocate(static_cast<int64_t>(line.size() + space.size()) + 1);
    if (!is_first) result += '\n';
    if (indented) result += space;
    result += line;
    is_first = false;
  }
  return runtime.text(std::move(result), text->markup);
}

Value truncate(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const auto a =
      bind("truncate", arguments, {{"length", true}, {"killwords", true}, {"end", true}, {"leeway", true}});
  const int64_t length = a[0].is_missing() ? 255 : integer_argument(a[0], "truncate");
  const std::string end = a[2].is_missing() ? "..." : text_argument(a[2], "truncate");
  const int64_t leeway = a[3].is_missing() || a[3].is_none() ? 5 : integer_argument(a[3], "truncate");
  const int64_t kept = length - count_code_points(end);
  if (kept < 0 || leeway < 0)
    throw TemplateError("truncate: length must reach for the end, leeway be positive");
  if (length_of(runtime, value) <= length + leeway) return value;
  const std::string& text = text_argument(value, "truncate");
  runtime.look_through(static_cast<int64_t>(text.size()));
  std::string_view head = std::string_view(text).substr(0, byte_offset(text, kept));
  if (a[1].is_missing() || !truth(a[1])) head = rsplit_at(head, " ", 1)[0];
  return runtime.text(std::string(head) + end);
}

Value to_json_filter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const auto a = bind("tojson", arguments,
                      {{"ensure_ascii", true}, {"indent", true}, {"separators", true}, {"sort_keys", true}});
  JsonStyle style;
  style.ensure_ascii = !a[0].is_missing() && truth(a[0]);
  if (!a[1].is_missing() && !a[1].is_none()) {
    style.indent = a[1].get<Text>() != nullptr ? a[1].get<Text>()->utf8 : spaces(runtime, a[1], "tojson");
    style.item_separator = ",";
  }
  if (!a[2].is_missing() && !a[2].is_none()) {
    const std::vector<Value> separators = items_of(runtime, a[2]);
    if (separators.size() != 2) throw TemplateError("tojson: separators must be two");
    style.item_separator = text_argument(separators[0], "tojson");
    style.key_separator = text_argument(separators[1], "tojson");
  }
  style.sort_keys = !a[3].is_missing() && truth(a[3]);
  return runtime.text(to_json(runtime, value, style));
}

constexpr FilterEntry kFilters[] = {
    {"capitalize", capitalize_filter},
    {"center", center},
    {"e", escape},
    {"escape", escape},
    {"forceescape", force_escape},
    {"format", format},
    {"indent", indent},
    {"join", join},
    {"lower", lower},
    {"replace", replace_filter},
    {"safe", safe},
    {"string", string},
    {"title", title},
    {"tojson", to_json_filter},
    {"trim", trim},
    {"truncate", truncate},
    {"upper", upper},
};

}  // namespace

Filter find_text_filter(std::string_view name) { return find_in(kFilters, name); }

}  // namespace cohort::jinja
