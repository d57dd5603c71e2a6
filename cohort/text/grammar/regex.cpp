#include "cohort/text/grammar/regex.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "cohort/core/error.h"
#include "libs/common/utf8.h"

namespace cohort {
namespace {

constexpr int64_t kMostRepeats = 1000;
constexpr int kMostDepth = 100;

CodePointSet digits() { return CodePointSet({{'0', '9'}}); }
CodePointSet word() { return CodePointSet({{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}); }
CodePointSet space() { return CodePointSet({{'\t', '\r'}, {' ', ' '}}); }

std::optional<CodePointSet> named_class(char32_t letter) {
  switch (letter) {
    case 'd':
      return digits();
    case 'D':
      return digits().complement();
    case 'w':
      return word();
    case 'W':
      return word().complement();
    case 's':
      return space();
    case 'S':
      return space().complement();
    default:
      return std::nullopt;
  }
}

std::optional<char32_t> named_control(char32_t letter) {
  constexpr std::string_view kLetters = "tnvfr0";
  constexpr std::string_view kControls("\t\n\v\f\r\0", 6);
  const size_t place = letter < 128 ? kLetters.find(static_cast<char>(letter)) : std::string_view::npos;
  if (place == std::string_view::npos) return std::nullopt;
  return static_cast<char32_t>(kControls[place]);
}

CodePointSet united(const CodePointSet& a, const CodePointSet& b) {
  std::vector<CodePointRange> ranges = a.ranges();
  ranges.insert(ranges.end(), b.ranges().begin(), b.ranges().end());
  return CodePointSet(std::move(ranges));
}

RegexNode of_set(CodePointSet set) { return {RegexNode::Kind::kSet, std::move(set)}; }

class Parser {
 public:
  explicit Parser(std::string_view pattern) : pattern_(pattern) {
    if (find_invalid_utf8(pattern)) throw UserError("the regular expression is not UTF-8");
  }

  std::vector<RegexBranch> parse() {
    std::vector<RegexBranch> branches;
    do {
      RegexBranch branch;
      while (take('^')) branch.is_anchored_at_begin = true;
      branch.node = sequence(0);
      while (take('$')) branch.is_anchored_at_end = true;
      branches.push_back(std::move(branch));
    } while (take('|'));
    if (place_ < pattern_.size()) fail("\")\" closes no group");
    return branches;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw UserError(str("the regular expression, byte ", place_ + 1, ": ", why));
  }

  bool is_over() const { return place_ == pattern_.size(); }
  bool peek(std::string_view text) const { return pattern_.substr(place_).starts_with(text); }
  bool take(char c) {
    const bool found = !is_over() && pattern_[place_] == c;
    place_ += found ? 1 : 0;
    return found;
  }
  bool take(std::string_view text) {
    const bool found = peek(text);
    place_ += found ? text.size() : 0;
    return found;
  }

  RegexNode alternatives(int depth) {
    RegexNode node{RegexNode::Kind::kAlternatives};
    do node.children.push_back(sequence(depth));
    while (take('|'));
    return node;
  }

  RegexNode sequence(int depth) {
    RegexNode node{RegexNode::Kind::kSequence};
    while (!is_over() && !peek("|") && !peek(")")) {
      if (peek("$") && depth == 0 && is_at_branch_end()) break;
      node.children.push_back(repeated(atom(depth)));
    }
    return node;
  }

  bool is_at_branch_end() const {
    const size_t after = pattern_.find_first_not_of('$', place_);
    return after == std::string_view::npos || pattern_[after] == '|';
  }

  RegexNode atom(int depth) {
    if (take('(')) return group(depth + 1);
    if (take('[')) return of_set(bracket());
    if (take('.')) return of_set(CodePointSet({{'\n', '\n'}}).complement());
    if (take('\\')) return of_set(escape());
    if (peek("^") || peek("$")) fail("^ and $ are supported at the ends of the expression alone");
    if (peek("*") || peek("+") || peek("?")) fail("there is nothing to repeat");
    const char32_t c = next_code_point(pattern_, place_);
    return of_set(CodePointSet({{c, c}}));
  }

  RegexNode group(int depth) {
    if (depth > kMostDepth) fail(str("groups are nested more than ", kMostDepth, " deep"));
    if (take("?P<") || (peek("?<") && !peek("?<=") && !peek("?<!"))) {
      place_ = std::min(pattern_.find('>', place_), pattern_.size());
      if (!take('>')) fail("the group's name has no end");
    } else if (!take("?:") && peek("?")) {
      fail("lookaround, conditions and flags are not supported");
    }
    RegexNode node = alternatives(depth);
    if (!take(')')) fail("a group has no end");
    return node;
  }

  CodePointSet escape() {
    if (is_over()) fail("a backslash ends it");
    const char32_t letter = next_code_point(pattern_, place_);
    if (auto set = named_class(letter)) return *std::move(set);
    const char32_t c = escaped(letter);
    return CodePointSet({{c, c}});
  }

  char32_t escaped(char32_t letter) {
    if (const auto control = named_control(letter)) return *control;
    if (letter == 'x') return hexadecimal(2);
    if (letter == 'u') return hexadecimal(4);
    const bool is_letter = letter < 128 && word().contains(letter) && letter != '_';
    if (is_letter) fail(str("\\", static_cast<char>(letter), " is not supported"));
    return letter;
  }

  char32_t hexadecimal(size_t count) {
    const std::string_view text = pattern_.substr(place_, count);
    const bool is_number =
        text.size() == count && text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
    if (!is_number) fail(str("\\x and \\u need ", count, " hexadecimal digits"));
    place_ += count;
    return static_cast<char32_t>(std::stoul(std::string(text), nullptr, 16));
  }

  CodePointSet bracket() {
    const bool is_negated = take('^');
    CodePointSet set;
    for (bool is_first = true; is_first || !peek("]"); is_first = false) {
      if (is_over()) fail("a class has no end");
      CodePointSet low = member();
      const bool is_range = low.ranges().size() == 1 && peek("-") && !peek("-]");
      if (is_range) low = range_from(low);
      set = united(set, low);
    }
    take(']');
    return is_negated ? set.complement() : set;
  }

  CodePointSet range_from(const CodePointSet& low) {
    take('-');
    if (is_over()) fail("a class has no end");
    const CodePointSet high = member();
    const char32_t first = low.ranges().front().first;
    const bool are_single = first == low.ranges().front().last && high.ranges().size() == 1 &&
                            high.ranges().front().first == high.ranges().front().last;
    if (!are_single || high.ranges().front().first < first) fail("a range of a class goes backwards");
    return CodePointSet({{first, high.ranges().front().first}});
  }

  CodePointSet member() {
    if (take('\\')) return escape();
    const char32_t c = next_code_point(pattern_, place_);
    return CodePointSet({{c, c}});
  }

  RegexNode repeated(RegexNode node) {
    while (const auto counts = quantifier()) {
      node = {RegexNode::Kind::kRepeat, {}, {std::move(node)}, counts->first, counts->second};
      if (peek("+")) fail("possessive repetitions are not supported");
      take('?');  // a lazy repetition has the same language
    }
    return node;
  }

  std::optional<std::pair<int64_t, int64_t>> quantifier() {
    if (take('*')) return std::pair{int64_t{0}, RegexNode::kUnlimited};
    if (take('+')) return std::pair{int64_t{1}, RegexNode::kUnlimited};
    if (take('?')) return std::pair{int64_t{0}, int64_t{1}};
    const size_t before = place_;
    if (!take('{')) return std::nullopt;
    const auto least = number();
    const bool has_comma = take(',');
    const auto most = has_comma ? number() : least;
    if ((!least && !most) || !take('}')) {  // a brace that counts nothing is a character
      place_ = before;
      return std::nullopt;
    }
    const int64_t min = least.value_or(0), max = most.value_or(RegexNode::kUnlimited);
    if (std::max(min, max) > kMostRepeats)
      fail(str("a repetition may have ", kMostRepeats, " times at most"));
    if (max != RegexNode::kUnlimited && max < min) fail("a repetition's limits are the wrong way round");
    return std::pair{min, max};
  }

  std::optional<int64_t> number() {
    std::optional<int64_t> value;
    while (!is_over() && pattern_[place_] >= '0' && pattern_[place_] <= '9') {
      value = std::min<int64_t>(value.value_or(0) * 10 + (pattern_[place_] - '0'), 1'000'000);
      ++place_;
    }
    return value;
  }

  std::string_view pattern_;
  size_t place_ = 0;
};

class Writer {
 public:
  Writer(Grammar& grammar, const WriteCodePoint& write) : grammar_(grammar), write_(write) {}

  void add(const RegexNode& node, Grammar::State from, Grammar::State to) {
    switch (node.kind) {
      case RegexNode::Kind::kSet:
        return write_(grammar_, from, node.set, to);
      case RegexNode::Kind::kSequence:
        return add_sequence(node, from, to);
      case RegexNode::Kind::kRepeat:
        return add_repeat(node, from, to);
      case RegexNode::Kind::kAlternatives:
        for (const RegexNode& child : node.children) add(child, from, to);
    }
  }

 private:
  void add_sequence(const RegexNode& node, Grammar::State from, Grammar::State to) {
    for (const RegexNode& child : node.children) from = added(child, from);
    grammar_.add_skip(from, to);
  }

  void add_repeat(const RegexNode& node, Grammar::State from, Grammar::State to) {
    const RegexNode& child = node.children.front();
    for (int64_t i = 0; i < node.min; ++i) from = added(child, from);
    if (node.max == RegexNode::kUnlimited) {
      const Grammar::State loop = grammar_.add_state();
      grammar_.add_skip(from, loop);
      grammar_.add_skip(added(child, loop), loop);
      from = loop;
    }
    for (int64_t i = node.min; i < node.max; ++i) {
      grammar_.add_skip(from, to);
      from = added(child, from);
    }
    grammar_.add_skip(from, to);
  }

  Grammar::State added(const RegexNode& node, Grammar::State from) {
    const Grammar::State to = grammar_.add_state();
    add(node, from, to);
    return to;
  }

  Grammar& grammar_;
  const WriteCodePoint& write_;
};

}  // namespace

std::vector<RegexBranch> parse_regex(std::string_view pattern) { return Parser(pattern).parse(); }

void add_regex(Grammar& grammar, Grammar::State from, std::string_view pattern, Grammar::State to) {
  const WriteCodePoint write = [](Grammar& out, Grammar::State begin, const CodePointSet& set,
                                  Grammar::State end) { out.add_code_point(begin, set, end); };
  Writer writer(grammar, write);
  for (const RegexBranch& branch : parse_regex(pattern)) writer.add(branch.node, from, to);
}

void add_regex_search(Grammar& grammar, Grammar::State from, std::string_view pattern, Grammar::State to,
                      const WriteCodePoint& write, const CodePointSet& any) {
  const RegexNode around{RegexNode::Kind::kRepeat, {}, {of_set(any)}, 0, RegexNode::kUnlimited};
  Writer writer(grammar, write);
  for (RegexBranch& branch : parse_regex(pattern)) {
    RegexNode whole{RegexNode::Kind::kSequence};
    if (!branch.is_anchored_at_begin) whole.children.push_back(around);
    whole.children.push_back(std::move(branch.node));
    if (!branch.is_anchored_at_end) whole.children.push_back(around);
    writer.add(whole, from, to);
  }
}

}  // namespace cohort
