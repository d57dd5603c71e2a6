#include "libs/jinja/internal/text_methods.h"

#include <algorithm>
#include <limits>

#include "libs/common/str.h"
#include "libs/common/utf8.h"
#include "libs/jinja/internal/operations.h"
#include "libs/jinja/python_text.h"
#include "libs/jinja/template.h"

namespace cohort::jinja {
namespace {

const Text& text_of(const Value& self) { return *self.get<Text>(); }

/// A result that is marked safe where `self` is.
Value like(Runtime& runtime, const Value& self, std::string utf8) {
  return runtime.text(std::move(utf8), text_of(self).markup);
}

void charge(Runtime& runtime, const Value& self) {
  runtime.look_through(static_cast<int64_t>(text_of(self).utf8.size()));
}

/// What goes into a string that is marked safe is escaped, unless it is marked too.
std::string escaped_for(const Value& self, const Value& argument, const char* function) {
  const std::string& text = text_argument(argument, function);
  return text_of(self).markup && !argument.get<Text>()->markup ? escape_markup(text) : text;
}

template <std::string (*map)(std::string_view)>
Value mapped(Runtime& runtime, const Value& self, const Arguments& arguments) {
  bind("the method", arguments, {});
  runtime.step(static_cast<int64_t>(text_of(self).utf8.size()) / 16);
  runtime.allocate(static_cast<int64_t>(text_of(self).utf8.size()) * 2);
  return like(runtime, self, map(text_of(self).utf8));
}

template <Sides sides>
Value stripped(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const auto a = bind("strip()", arguments, {{"chars", true, true}});
  charge(runtime, self);
  if (a[0].is_missing() || a[0].is_none())
    return like(runtime, self, std::string(strip(text_of(self).utf8, sides)));
  const std::string& characters = text_argument(a[0], "strip()");
  runtime.step(static_cast<int64_t>(characters.size()));
  return like(runtime, self, std::string(strip(text_of(self).utf8, sides, characters)));
}

Value text_list(Runtime& runtime, const Value& self, const std::vector<std::string_view>& parts) {
  std::vector<Value> items;
  items.reserve(parts.size());
  for (const std::string_view part : parts) items.push_back(like(runtime, self, std::string(part)));
  runtime.step(static_cast<int64_t>(parts.size()));
  return runtime.list(std::move(items));
}

template <bool from_right>
Value split(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const auto a = bind("split()", arguments, {{"sep", true}, {"maxsplit", true}});
  const std::string& text = text_of(self).utf8;
  charge(runtime, self);
  const int64_t max_splits = a[1].is_missing() ? -1 : integer_argument(a[1], "split()");
  if (a[0].is_missing() || a[0].is_none()) {
    runtime.allocate(static_cast<int64_t>(text.size()) * 8);
    return text_list(runtime, self,
                     from_right ? rsplit_at_space(text, max_splits) : split_at_space(text, max_splits));
  }
  const std::string& separator = text_argument(a[0], "split()");
  if (separator.empty()) throw TemplateError("empty separator");
  if (from_right) runtime.look_through(static_cast<int64_t>(text.size() * separator.size()));
  runtime.allocate_items(count_occurrences(text, separator) + 1, sizeof(std::string_view));
  return text_list(
      runtime, self,
      from_right ? rsplit_at(text, separator, max_splits) : split_at(text, separator, max_splits));
}

Value splitlines(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const auto a = bind("splitlines()", arguments, {{"keepends", true}});
  charge(runtime, self);
  runtime.allocate(static_cast<int64_t>(text_of(self).utf8.size()) * 16);
  return text_list(runtime, self, split_lines(text_of(self).utf8, !a[0].is_missing() && truth(a[0])));
}

Value replaced(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const auto a =
      bind("replace()", arguments, {{"old", false, true}, {"new", false, true}, {"count", true, true}});
  const std::string& old = text_argument(a[0], "replace()");
  const std::string by = escaped_for(self, a[1], "replace()");
  const int64_t most = a[2].is_missing() ? -1 : integer_argument(a[2], "replace()");
  const std::string& text = text_of(self).utf8;
  charge(runtime, self);
  const int64_t count = count_occurrences(text, old);
  runtime.step(count / 4);
  runtime.allocate_items(count, static_cast<int64_t>(by.size()) + 1);
  return like(runtime, self, replace(text, old, by, most));
}

/// Python's clamping of the arguments `start` and `end`: the part of the text, and its first code point.
struct Part {
  std::string_view text;
  int64_t start;
  bool empty_range;
};

Part part_of(const Text& text, const Value& start_value, const Value& end_value) {
  if (start_value.is_missing()) return {text.utf8, 0, false};
  const auto clamp = [&](const Value& value, int64_t otherwise) {
    if (value.is_missing() || value.is_none()) return otherwise;
    int64_t index = integer_argument(value, "slice");
    if (index < 0) index = std::max<int64_t>(index + text.length, 0);
    return index;
  };
  const int64_t start = clamp(start_value, 0);
  const int64_t end = std::min(clamp(end_value, text.length), text.length);
  if (start > end) return {{}, start, true};
  const size_t first = byte_offset(text.utf8, start);
  const std::string_view rest = std::string_view(text.utf8).substr(first);
  return {rest.substr(0, byte_offset(rest, end - start)), start, false};
}

template <bool at_start>
Value has_affix(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const char* name = at_start ? "startswith()" : "endswith()";
  const auto a = bind(name, arguments, {{"affix", false, true}, {"start", true, true}, {"end", true, true}});
  const Part part = part_of(text_of(self), a[1], a[2]);
  if (!a[1].is_missing()) charge(runtime, self);
  const auto matches = [&](const Value& affix) {
    const std::string& text = text_argument(affix, name);
    runtime.look_through(static_cast<int64_t>(text.size()));
    return !part.empty_range && (at_start ? part.text.starts_with(text) : part.text.ends_with(text));
  };
  const Tuple* tuple = a[0].get<Tuple>();
  if (tuple == nullptr) return matches(a[0]);
  return std::any_of(tuple->items.begin(), tuple->items.end(), matches);
}

/// The position of a part, -1 when it is not there.
template <bool from_right>
int64_t find_part(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const auto a =
      bind("find()", arguments, {{"sub", false, true}, {"start", true, true}, {"end", true, true}});
  const std::string& wanted = text_argument(a[0], "find()");
  const Part part = part_of(text_of(self), a[1], a[2]);
  charge(runtime, self);
  runtime.look_through(static_cast<int64_t>(wanted.size() * part.text.size()));
  const size_t found = from_right ? part.text.rfind(wanted) : part.text.find(wanted);
  if (part.empty_range || found == std::string_view::npos) return -1;
  return part.start + count_code_points(part.text.substr(0, found));
}

template <bool from_right>
Value find(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return find_part<from_right>(runtime, self, arguments);
}

template <bool from_right>
Value index(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const int64_t found = find_part<from_right>(runtime, self, arguments);
  if (found < 0) throw TemplateError("substring not found");
  return found;
}

Value count(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const auto a =
      bind("count()", arguments, {{"sub", false, true}, {"start", true, true}, {"end", true, true}});
  const Part part = part_of(text_of(self), a[1], a[2]);
  charge(runtime, self);
  return part.empty_range ? 0 : count_occurrences(part.text, text_argument(a[0], "count()"));
}

Value join(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const auto a = bind("join()", arguments, {{"iterable", false, true}});
  std::string result;
  bool first = true;
  for_each_item(runtime, a[0], [&](const Value& item) {
    const std::string piece = escaped_for(self, item, "join()");
    runtime.allocate(static_cast<int64_t>(piece.size() + text_of(self).utf8.size()));
    if (!first) result += text_of(self).utf8;
    first = false;
    result += piece;
    return true;
  });
  return like(runtime, self, std::move(result));
}

template <bool is_prefix>
Value remove_affix(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const auto a = bind("removeprefix()", arguments, {{"affix", false, true}});
  const std::string& affix = text_argument(a[0], "removeprefix()");
  std::string_view text = text_of(self).utf8;
  if (is_prefix && text.starts_with(affix)) text.remove_prefix(affix.size());
  if (!is_prefix && text.ends_with(affix)) text.remove_suffix(affix.size());
  return like(runtime, self, std::string(text));
}

template <bool from_right>
Value partition(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const auto a = bind("partition()", arguments, {{"sep", false, true}});
  const std::string& separator = text_argument(a[0], "partition()");
  if (separator.empty()) throw TemplateError("empty separator");
  const std::string& text = text_of(self).utf8;
  runtime.look_through(static_cast<int64_t>(text.size() * separator.size()));
  const size_t found = from_right ? text.rfind(separator) : text.find(separator);
  const auto piece = [&](std::string_view part) { return like(runtime, self, std::string(part)); };
  if (found == std::string::npos)
    return runtime.tuple(from_right ? std::vector<Value>{piece(""), piece(""), self}
                                    : std::vector<Value>{self, piece(""), piece("")});
  return runtime.tuple({piece(std::string_view(text).substr(0, found)), piece(separator),
                        piece(std::string_view(text).substr(found + separator.size()))});
}

enum class Place { kLeft, kRight, kCenter, kZeros };

template <Place place>
Value padded(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const auto a = bind("padding", arguments, {{"width", false, true}, {"fillchar", true, true}});
  const Text& text = text_of(self);
  const std::string fill = place == Place::kZeros ? "0"
                           : a[1].is_missing()    ? " "
                                                  : escaped_for(self, a[1], "padding");
  if (count_code_points(fill) != 1) throw_type_error("The fill character must be exactly one character long");
  const int64_t width = integer_argument(a[0], "padding");
  const int64_t total = width > text.length ? width - text.length : 0;
  runtime.allocate_items(total, static_cast<int64_t>(fill.size()));
  const int64_t left = place == Place::kLeft     ? 0
                       : place == Place::kCenter ? total / 2 + (total & width & 1)
                                                 : total;
  std::string result;
  const bool has_sign = place == Place::kZeros && (text.utf8.starts_with('-') || text.utf8.starts_with('+'));
  if (has_sign) result += text.utf8[0];
  for (int64_t i = 0; i < left; ++i) result += fill;
  result += text.utf8.substr(has_sign);
  for (int64_t i = left; i < total; ++i) result += fill;
  return like(runtime, self, std::move(result));
}

/// True when the text is not empty and all its code points satisfy the predicate.
template <bool (*predicate)(char32_t)>
Value all_are(Runtime& runtime, const Value& self, const Arguments& arguments) {
  bind("the method", arguments, {});
  charge(runtime, self);
  const std::string& text = text_of(self).utf8;
  for (size_t pos = 0; pos < text.size();) {
    if (!predicate(next_code_point(text, pos))) return false;
  }
  return !text.empty();
}

bool is_alphanumeric(char32_t c) { return is_alphabetic(c) || is_decimal(c) || is_digit(c) || is_numeric(c); }

Value isascii(Runtime&, const Value& self, const Arguments& arguments) {
  bind("isascii()", arguments, {});
  return text_of(self).is_ascii();
}

template <bool (*wanted)(char32_t), bool (*unwanted)(char32_t)>
Value has_case(Runtime& runtime, const Value& self, const Arguments& arguments) {
  bind("the method", arguments, {});
  charge(runtime, self);
  return has_only_case(text_of(self).utf8, wanted, unwanted);
}

struct Entry {
  std::string_view name;
  NativeMethod method;
};

constexpr Entry kMethods[] = {
    {"capitalize", mapped<capitalize>},
    {"casefold", mapped<case_fold>},
    {"center", padded<Place::kCenter>},
    {"count", count},
    {"endswith", has_affix<false>},
    {"find", find<false>},
    {"format", format_braces},
    {"index", index<false>},
    {"isalnum", all_are<is_alphanumeric>},
    {"isalpha", all_are<is_alphabetic>},
    {"isascii", isascii},
    {"isdecimal", all_are<is_decimal>},
    {"isdigit", all_are<is_digit>},
    {"islower", has_case<is_lower_case, is_upper_case>},
    {"isnumeric", all_are<is_numeric>},
    {"isspace", all_are<is_space>},
    {"isupper", has_case<is_upper_case, is_lower_case>},
    {"join", join},
    {"ljust", padded<Place::kLeft>},
    {"lower", mapped<to_lower>},
    {"lstrip", stripped<Sides::kLeft>},
    {"partition", partition<false>},
    {"removeprefix", remove_affix<true>},
    {"removesuffix", remove_affix<false>},
    {"replace", replaced},
    {"rfind", find<true>},
    {"rindex", index<true>},
    {"rjust", padded<Place::kRight>},
    {"rpartition", partition<true>},
    {"rsplit", split<true>},
    {"rstrip", stripped<Sides::kRight>},
    {"split", split<false>},
    {"splitlines", splitlines},
    {"startswith", has_affix<true>},
    {"strip", stripped<Sides::kBoth>},
    {"swapcase", mapped<swap_case>},
    {"title", mapped<to_title>},
    {"upper", mapped<to_upper>},
    {"zfill", padded<Place::kZeros>},
};

constexpr std::string_view kUnsupported[] = {"encode",  "expandtabs",  "format_map", "isidentifier",
                                             "istitle", "isprintable", "maketrans",  "translate"};

}  // namespace

NativeMethod find_text_method(std::string_view name) {
  if (std::find(std::begin(kUnsupported), std::end(kUnsupported), name) != std::end(kUnsupported))
    throw TemplateError(str("str.", name, " is not supported in templates"));
  const auto it =
      std::find_if(std::begin(kMethods), std::end(kMethods), [&](const Entry& e) { return e.name == name; });
  return it == std::end(kMethods) ? nullptr : it->method;
}

}  // namespace cohort::jinja
