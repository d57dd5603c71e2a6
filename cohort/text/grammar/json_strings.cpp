#include "cohort/text/grammar/json_strings.h"

#include <algorithm>
#include <array>
#include <map>

#include "cohort/core/error.h"
#include "cohort/text/grammar/regex.h"
#include "libs/common/utf8.h"

namespace cohort {
namespace {

constexpr int64_t kMostCharacters = 5000;
constexpr std::string_view kEscapes = "\"\\/\b\f\n\r\t";
constexpr std::string_view kLetters = "\"\\/bfnrt";

CodePointSet raw_characters() { return CodePointSet({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}}).complement(); }

CodePointSet all_characters() { return CodePointSet({{0, kMaxCodePoint}}); }

/// A character in any of its forms.
void add_any_character(Grammar& grammar, Grammar::State from, Grammar::State to) {
  grammar.add_code_point(from, raw_characters(), to);
  const Grammar::State escape = grammar.add_state();
  grammar.add_symbols(from, '\\', '\\', escape);
  // A half of a surrogate pair is left out: alone it is no text.
  add_regex(grammar, escape, R"(["\\/bfnrt]|u([0-9a-cA-Ce-fE-F][0-9a-fA-F]|[dD][0-7])[0-9a-fA-F]{2})", to);
}

struct Format {
  const char* name;
  const char* pattern;
};

constexpr auto kFormats = std::to_array<Format>({
    {"date", "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"},
    {"time",
     "^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[-+]([01][0-9]|2[0-3]):[0-5][0-9])$"},
    {"date-time",
     "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
     "(\\.[0-9]{1,9})?(Z|[-+]([01][0-9]|2[0-3]):[0-5][0-9])$"},
    {"uuid", "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"},
    {"ipv4",
     "^((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])\\.){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])$"},
    {"email",
     "^[A-Za-z0-9_+-]{1,32}(\\.[A-Za-z0-9_+-]{1,32}){0,3}@[A-Za-z0-9-]{1,32}(\\.[A-Za-z0-9-]{1,32}){1,3}$"},
});

/// A tree of names: what follows each beginning.
struct Beginnings {
  std::map<char32_t, Beginnings> next{};
  bool is_name = false;
};

void add_unlike(Grammar& grammar, Grammar::State from, const Beginnings& beginnings, Grammar::State others,
                Grammar::State to) {
  if (!beginnings.is_name) grammar.add_symbols(from, '"', '"', to);
  std::vector<CodePointRange> taken;
  for (const auto& [c, after] : beginnings.next) {
    taken.push_back({c, c});
    const CodePointSet one = CodePointSet({{c, c}}).intersected(raw_characters());
    const Grammar::State next = grammar.add_state();
    grammar.add_code_point(from, one, next);
    add_unlike(grammar, next, after, others, to);
  }
  grammar.add_code_point(from, CodePointSet(taken).complement().intersected(raw_characters()), others);
}

}  // namespace

void add_string_character(Grammar& grammar, Grammar::State from, const CodePointSet& set, Grammar::State to) {
  grammar.add_code_point(from, set.intersected(raw_characters()), to);
  for (size_t i = 0; i < kEscapes.size(); ++i) {
    const char letter = kLetters[i];
    if (letter == '/' || !set.contains(static_cast<char32_t>(kEscapes[i]))) continue;
    grammar.add_text(from, {std::array{'\\', letter}.data(), 2}, to);
  }
}

void add_string_of_length(Grammar& grammar, Grammar::State from, const StringLimits& limits,
                          Grammar::State to) {
  const int64_t last = limits.most.value_or(limits.least);
  if (last > kMostCharacters) throw UserError(str("a length may be ", kMostCharacters, " at most"));
  if (last < limits.least) throw UserError("maxLength is less than minLength");
  Grammar::Rule character = grammar.add_rule();
  add_any_character(grammar, grammar.begin(character), grammar.end(character));
  Grammar::State place = grammar.add_state();
  grammar.add_symbols(from, '"', '"', place);
  for (int64_t i = 0; i < last; ++i) {
    if (i >= limits.least) grammar.add_symbols(place, '"', '"', to);
    const Grammar::State next = grammar.add_state();
    grammar.add_call(place, character, next);
    place = next;
  }
  if (!limits.most) grammar.add_call(place, character, place);
  grammar.add_symbols(place, '"', '"', to);
}

void add_string_of_pattern(Grammar& grammar, Grammar::State from, const std::string& pattern,
                           Grammar::State to) {
  const Grammar::State begin = grammar.add_state(), end = grammar.add_state();
  grammar.add_symbols(from, '"', '"', begin);
  add_regex_search(grammar, begin, pattern, end, add_string_character, all_characters());
  grammar.add_symbols(end, '"', '"', to);
}

void add_string_unlike(Grammar& grammar, Grammar::State from, const std::vector<std::string>& names,
                       Grammar::State to) {
  Beginnings tree;
  for (const std::string& name : names) {
    Beginnings* place = &tree;
    for (size_t i = 0; i < name.size();) place = &place->next[next_code_point(name, i)];
    place->is_name = true;
  }
  const Grammar::State begin = grammar.add_state(), others = grammar.add_state();
  grammar.add_symbols(from, '"', '"', begin);
  grammar.add_code_point(others, raw_characters(), others);
  grammar.add_symbols(others, '"', '"', to);
  add_unlike(grammar, begin, tree, others, to);
}

const char* pattern_of_format(const std::string& format) {
  const auto found = std::ranges::find(kFormats, format, &Format::name);
  return found == kFormats.end() ? nullptr : found->pattern;
}

}  // namespace cohort
