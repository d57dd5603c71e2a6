// Python's operations on strings, over well-formed UTF-8 with positions in code points.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cohort::jinja {

/// Byte offset of the code point `index` (0 to the length).
size_t byte_offset(std::string_view text, int64_t index);

/// str.isspace() of one code point.
bool is_space(char32_t code_point);

/// str.isprintable() of one code point.
bool is_printable(char32_t code_point);

/// What str.isalpha(), isdecimal(), isdigit(), isnumeric(), islower() and isupper() ask of one code point.
bool is_alphabetic(char32_t code_point);
bool is_decimal(char32_t code_point);
bool is_digit(char32_t code_point);
bool is_numeric(char32_t code_point);
bool is_cased(char32_t code_point);
bool is_lower_case(char32_t code_point);
bool is_upper_case(char32_t code_point);

/// Whether a text holds a `wanted` code point and no `unwanted` one: islower and isupper.
bool has_only_case(std::string_view text, bool (*wanted)(char32_t), bool (*unwanted)(char32_t));

enum class Sides { kLeft, kRight, kBoth };

/// str.strip and its kin; without `characters`, white space is stripped.
std::string_view strip(std::string_view text, Sides sides, std::optional<std::string_view> characters = {});

/// str.split(); at most `max_splits` splits unless that is negative.
std::vector<std::string_view> split_at_space(std::string_view text, int64_t max_splits);
std::vector<std::string_view> split_at(std::string_view text, std::string_view separator, int64_t max_splits);

/// str.rsplit().
std::vector<std::string_view> rsplit_at_space(std::string_view text, int64_t max_splits);
std::vector<std::string_view> rsplit_at(std::string_view text, std::string_view separator,
                                        int64_t max_splits);

std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends);

/// Occurrences that do not overlap; between all code points for an empty `part`.
int64_t count_occurrences(std::string_view text, std::string_view part);

/// str.replace(): at most `max_count` times unless that is negative.
std::string replace(std::string_view text, std::string_view part, std::string_view by, int64_t max_count);

std::string to_lower(std::string_view text);
std::string to_upper(std::string_view text);
std::string to_title(std::string_view text);
std::string capitalize(std::string_view text);
std::string swap_case(std::string_view text);
std::string case_fold(std::string_view text);

/// repr(): quoted, with escapes for what is not printable.
std::string in_quotes(std::string_view text);

/// repr() of a float: the shortest digits that read back as the same number.
std::string float_repr(double number);

/// HTML's five characters as entities.
std::string escape_markup(std::string_view text);

}  // namespace cohort::jinja
