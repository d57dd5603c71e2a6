// "..." % arguments and "...".format(arguments).
#include <cmath>
#include <cstdio>

#include "libs/common/str.h"
#include "libs/common/utf8.h"
#include "libs/jinja/internal/operations.h"
#include "libs/jinja/internal/text_methods.h"
#include "libs/jinja/python_text.h"
#include "libs/jinja/template.h"

namespace cohort::jinja {
namespace {

/// One %-conversion: %(key)flags width .precision type.
struct Conversion {
  std::string flags;
  int64_t width = 0;
  int64_t precision = -1;
  char type = 0;

  bool has(char flag) const { return flags.find(flag) != std::string::npos; }
};

int64_t read_number(std::string_view text, size_t& pos) {
  int64_t number = 0;
  for (; pos < text.size() && text[pos] >= '0' && text[pos] <= '9'; ++pos) {
    number = number * 10 + (text[pos] - '0');
    if (number > 1'000'000) throw TemplateError("a format's width or precision is too large");
  }
  return number;
}

/// Hands out the arguments of a %-format: of a tuple one after another, of a mapping by key.
class PercentArguments {
 public:
  PercentArguments(const Value& arguments) : arguments_(arguments), tuple_(arguments.get<Tuple>()) {}

  const Value& next() {
    const size_t size = tuple_ == nullptr ? 1 : tuple_->items.size();
    if (used_ == size) throw_type_error("not enough arguments for format string");
    return tuple_ == nullptr ? (++used_, arguments_) : tuple_->items[used_++];
  }
  const Value& by_key(std::string_view key) {
    const Dict* dict = arguments_.get<Dict>();
    if (dict == nullptr) throw_type_error("format requires a mapping");
    const Value* found = dict->find(key);
    if (found == nullptr) throw TemplateError(str("'", key, "'"));
    return *found;
  }
  void require_all_used() const {
    const bool container = arguments_.get<Dict>() || arguments_.get<List>() || arguments_.get<Range>() ||
                           arguments_.is_undefined();
    const size_t size = tuple_ == nullptr ? (container ? 0 : 1) : tuple_->items.size();
    if (used_ < size) throw_type_error("not all arguments converted during string formatting");
  }

 private:
  const Value& arguments_;
  const Tuple* tuple_;
  size_t used_ = 0;
};

std::string pad(Runtime& runtime, const Conversion& conversion, std::string text, bool number) {
  const int64_t missing = conversion.width - count_code_points(text);
  if (missing <= 0) return text;
  runtime.allocate(missing);
  if (conversion.has('-')) return text + std::string(missing, ' ');
  if (!number || !conversion.has('0')) return std::string(missing, ' ') + text;
  const size_t sign = text[0] == '-' || text[0] == '+' || text[0] == ' ';
  return text.substr(0, sign) + std::string(missing, '0') + text.substr(sign);
}

std::string signed_text(const Conversion& conversion, bool is_negative, const std::string& digits) {
  if (is_negative) return "-" + digits;
  if (conversion.has('+')) return "+" + digits;
  return conversion.has(' ') ? " " + digits : digits;
}

std::string whole_text(const Conversion& conversion, const Value& value) {
  require_defined(value);
  const auto number = value.number();
  if (!number)
    throw_type_error(str("%", conversion.type, " format: a real number is required, not ", type_name(value)));
  if (value.is_float() && (conversion.type == 'x' || conversion.type == 'X' || conversion.type == 'o'))
    throw_type_error(str("%", conversion.type, " format: an integer is required, not float"));
  if (value.is_float() && !std::isfinite(*number))
    throw TemplateError("cannot convert float NaN or infinity to integer");
  const BigInteger whole = value.is_float() ? BigInteger::truncated(*number) : *value.big_integer();
  const int base = conversion.type == 'x' || conversion.type == 'X' ? 16 : conversion.type == 'o' ? 8 : 10;
  std::string text = (whole.is_negative() ? -BigInteger(whole) : whole).text(base);
  if (conversion.type == 'X') std::transform(text.begin(), text.end(), text.begin(), ::toupper);
  if (static_cast<int64_t>(text.size()) < conversion.precision)
    text.insert(0, conversion.precision - text.size(), '0');
  return signed_text(conversion, whole.is_negative(), text);
}

std::string real_text(Runtime& runtime, const Conversion& conversion, const Value& value) {
  require_defined(value);
  const auto number = value.number();
  if (!number) throw_type_error("must be real number, not " + type_name(value));
  const int precision = static_cast<int>(conversion.precision < 0 ? 6 : conversion.precision);
  const std::string format = str("%", conversion.has('#') ? "#" : "", ".*", conversion.type);
  const int size = std::snprintf(nullptr, 0, format.c_str(), precision, std::fabs(*number));
  runtime.allocate(size + 1);
  std::string digits(size + 1, '\0');
  std::snprintf(digits.data(), digits.size(), format.c_str(), precision, std::fabs(*number));
  digits.pop_back();
  return signed_text(conversion, std::signbit(*number) && !std::isnan(*number), digits);
}

std::string converted(Runtime& runtime, const Conversion& conversion, const Value& value, bool escape) {
  switch (conversion.type) {
    case 's':
    case 'r': {
      std::string text = conversion.type == 's' ? to_text(runtime, value) : to_repr(runtime, value);
      if (escape && !(value.get<Text>() && value.get<Text>()->markup)) text = escape_markup(text);
      if (conversion.precision >= 0) text.resize(byte_offset(text, conversion.precision));
      return pad(runtime, conversion, std::move(text), false);
    }
    case 'd':
    case 'i':
    case 'u':
    case 'x':
    case 'X':
    case 'o':
      return pad(runtime, conversion, whole_text(conversion, value), true);
    case 'f':
    case 'F':
    case 'e':
    case 'E':
    case 'g':
    case 'G':
      return pad(runtime, conversion, real_text(runtime, conversion, value), true);
    default:
      throw TemplateError(str("unsupported format character '", conversion.type, "'"));
  }
}

/// A replacement field's value: {} and {0} by position, {name} by keyword, then .attribute and [index] parts.
class BraceArguments {
 public:
  BraceArguments(Runtime& runtime, const Arguments& arguments) : runtime_(runtime), arguments_(arguments) {}

  Value lookup(std::string_view field) {
    const size_t end = std::min(field.find_first_of(".["), field.size());
    Value value = first(field.substr(0, end));
    for (field.remove_prefix(end); !field.empty();) {
      const bool by_name = field[0] == '.';
      const size_t stop = by_name ? std::min(field.find_first_of(".[", 1), field.size()) : field.find(']');
      if (stop == std::string_view::npos || stop == 1) throw TemplateError("malformed replacement field");
      const std::string part(field.substr(1, stop - 1));
      const bool digits = part.find_first_not_of("0123456789") == std::string::npos && part.size() < 10;
      value = by_name
                  ? get_attribute(runtime_, value, part)
                  : get_item(runtime_, value, digits ? Value(int64_t{std::stol(part)}) : runtime_.text(part));
      field.remove_prefix(by_name ? stop : stop + 1);
    }
    return value;
  }

 private:
  Value first(std::string_view name) {
    size_t pos = 0;
    const size_t index = name.empty() ? next_++ : static_cast<size_t>(read_number(name, pos));
    if (name.empty() || pos == name.size()) {
      if (index >= arguments_.positional.size())
        throw TemplateError(str("Replacement index ", index, " out of range for positional args tuple"));
      return arguments_.positional[index];
    }
    for (const auto& [key, value] : arguments_.keyword) {
      if (key == name) return value;
    }
    throw TemplateError(str("'", name, "'"));
  }

  Runtime& runtime_;
  const Arguments& arguments_;
  size_t next_ = 0;
};

Conversion read_conversion(std::string_view text, size_t& pos) {
  Conversion conversion;
  while (pos < text.size() && std::string_view("-+ #0").find(text[pos]) != std::string_view::npos)
    conversion.flags += text[pos++];
  if (pos < text.size() && text[pos] == '*') throw TemplateError("a width of * is not supported");
  conversion.width = read_number(text, pos);
  if (pos < text.size() && text[pos] == '.') conversion.precision = read_number(text, ++pos);
  while (pos < text.size() && (text[pos] == 'l' || text[pos] == 'h' || text[pos] == 'L')) ++pos;
  if (pos == text.size()) throw TemplateError("incomplete format");
  conversion.type = text[pos++];
  return conversion;
}

}  // namespace

Value format_percent(Runtime& runtime, const Value& format, const Value& values) {
  const std::string_view text = format.get<Text>()->utf8;
  const bool markup = format.get<Text>()->markup;
  PercentArguments arguments(values);
  std::string result;
  for (size_t pos = 0; pos < text.size();) {
    if (text[pos] != '%') {
      result += text[pos++];
      continue;
    }
    runtime.step();
    const Value* value = nullptr;
    ++pos;
    if (pos < text.size() && text[pos] == '(') {
      const size_t end = text.find(')', pos);
      if (end == std::string_view::npos) throw TemplateError("incomplete format key");
      value = &arguments.by_key(text.substr(pos + 1, end - pos - 1));
      pos = end + 1;
    }
    const Conversion conversion = read_conversion(text, pos);
    if (conversion.type == '%') {
      result += '%';
      continue;
    }
    const std::string piece =
        converted(runtime, conversion, value == nullptr ? arguments.next() : *value, markup);
    runtime.allocate(static_cast<int64_t>(piece.size()));
    result += piece;
  }
  arguments.require_all_used();
  return runtime.text(std::move(result), markup);
}

Value format_braces(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Text& format = *self.get<Text>();
  const std::string_view text = format.utf8;
  BraceArguments values(runtime, arguments);
  std::string result;
  for (size_t pos = 0; pos < text.size(); ++pos) {
    const char c = text[pos];
    if (c != '{' && c != '}') {
      result += c;
      continue;
    }
    if (pos + 1 < text.size() && text[pos + 1] == c) {
      result += text[pos++];
      continue;
    }
    const size_t end = text.find('}', pos);
    if (c == '}' || end == std::string_view::npos)
      throw TemplateError(str("Single '", c, "' encountered in format string"));
    runtime.step();
    std::string_view field = text.substr(pos + 1, end - pos - 1);
    if (field.find_first_of(":{") != std::string_view::npos)
      throw TemplateError("str.format with format specifications is not supported in templates");
    const bool repr = field.ends_with("!r");
    if (repr || field.ends_with("!s")) field.remove_suffix(2);
    const Value value = values.lookup(field);
    std::string piece = repr ? to_repr(runtime, value) : to_text(runtime, value);
    if (format.markup && !(value.get<Text>() && value.get<Text>()->markup)) piece = escape_markup(piece);
    runtime.allocate(static_cast<int64_t>(piece.size()));
    result += piece;
    pos = end;
  }
  return runtime.text(std::move(result), format.markup);
}

}  // namespace cohort::jinja
