#include "libs/common/long_integers.h"

#include <charconv>
#include <cstdint>

#include "libs/common/ascii.h"
#include "libs/common/str.h"

namespace cohort {
namespace {

constexpr size_t kMinDigits = 19;          // fewer always fit
constexpr std::string_view kMask = "0e-";  // and then zeros and an index: 0.0, whatever the index
constexpr uint8_t kSubtype = 0x17;         // of the binary value that holds the digits

bool is_in_number(char c) {
  return is_digit(c) || std::string_view("+-.eE").find(c) != std::string_view::npos;
}

size_t skip_text(std::string_view text, size_t offset) {
  for (size_t i = offset + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      return i + 1;
    }
  }
  return text.size();
}

bool is_long(std::string_view number) {
  const std::string_view digits = number.substr(number.starts_with('-') ? 1 : 0);
  const bool is_integer = digits.find_first_not_of("0123456789") == std::string_view::npos;
  return digits.size() >= kMinDigits && is_integer && digits[0] != '0' && !fits_64_bits(number);
}

std::string mask(size_t index, size_t size) {
  const std::string digits = std::to_string(index);
  return str(kMask, std::string(size - kMask.size() - digits.size(), '0'), digits);
}

bool has_many_digits(std::string_view text) {
  size_t num_digits = 0;
  for (const char c : text) {
    num_digits = is_digit(c) ? num_digits + 1 : 0;
    if (num_digits >= kMinDigits) return true;
  }
  return false;
}

}  // namespace

bool fits_64_bits(std::string_view digits) {
  const auto parses = [&](auto number) {
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return result.ec == std::errc() && result.ptr == digits.data() + digits.size();
  };
  return parses(int64_t{0}) || parses(uint64_t{0});
}

HiddenIntegers hide_long_integers(std::string_view text) {
  HiddenIntegers hidden;
  if (!has_many_digits(text)) return hidden;
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    if (text[i] == '"') {
      end = skip_text(text, i);
    } else if (is_digit(text[i]) || text[i] == '-') {
      while (end < text.size() && is_in_number(text[end])) ++end;
    }
    const std::string_view part = text.substr(i, end - i);
    if (is_long(part)) {
      hidden.text += mask(hidden.integers.size(), part.size());
      hidden.integers.emplace_back(part);
    } else {
      hidden.text += part;
    }
    i = end;
  }
  if (hidden.integers.empty()) hidden.text.clear();
  return hidden;
}

const std::string* find_hidden(const std::vector<std::string>& integers, std::string_view token) {
  if (integers.empty() || token.size() < kMinDigits || !token.starts_with(kMask)) return nullptr;
  const std::string_view digits = token.substr(kMask.size());
  size_t index = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (result.ec != std::errc() || result.ptr != digits.data() + digits.size() || index >= integers.size())
    return nullptr;
  return integers[index].size() == token.size() ? &integers[index] : nullptr;
}

Json make_integer(std::string_view digits) {
  if (digits.starts_with('+')) digits.remove_prefix(1);
  int64_t number = 0;
  if (fits_64_bits(digits)) {
    uint64_t large = 0;
    const bool is_signed =
        std::from_chars(digits.data(), digits.data() + digits.size(), number).ec == std::errc();
    if (is_signed) return number;
    std::from_chars(digits.data(), digits.data() + digits.size(), large);
    return large;
  }
  return Json::binary(std::vector<uint8_t>(digits.begin(), digits.end()), kSubtype);
}

bool is_long_integer(const Json& value) {
  return value.is_binary() && value.get_binary().has_subtype() && value.get_binary().subtype() == kSubtype;
}

std::string_view long_integer_digits(const Json& value) {
  const Json::binary_t& bytes = value.get_binary();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace cohort
