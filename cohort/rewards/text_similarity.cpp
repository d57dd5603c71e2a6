#include "cohort/rewards/text_similarity.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <string>
#include <unordered_map>

#include "libs/common/ascii.h"
#include "libs/common/utf8.h"

namespace cohort {
namespace {

using Symbols = std::vector<uint32_t>;

Symbols code_points(std::string_view text) {
  Symbols result;
  for (size_t pos = 0; pos < text.size();) result.push_back(next_code_point(text, pos));
  return result;
}

/// White space as Python's str.isspace and str.split see it.
bool is_space(uint32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

/// Words as numbers, the same word the same number in both texts.
class Vocabulary {
 public:
  uint32_t id(const std::string& word) {
    return ids_.emplace(word, static_cast<uint32_t>(ids_.size())).first->second;
  }

 private:
  std::unordered_map<std::string, uint32_t> ids_;
};

Symbols ascii_words(std::string_view text, Vocabulary& vocabulary) {
  Symbols result;
  std::string word;
  for (size_t i = 0; i <= text.size(); ++i) {
    const auto c = static_cast<unsigned char>(i < text.size() ? text[i] : ' ');
    if (c < 0x80 && std::isalnum(c) != 0) {
      word += static_cast<char>(std::tolower(c));
    } else if (!word.empty()) {
      result.push_back(vocabulary.id(word));
      word.clear();
    }
  }
  return result;
}

double harmonic(double precision, double recall) {
  return precision + recall > 0.0 ? 2.0 * precision * recall / (precision + recall) : 0.0;
}

/// Counts of n-grams, by their symbols.
using Counts = std::map<Symbols, int64_t>;

Counts count_ngrams(const Symbols& symbols, size_t order) {
  Counts counts;
  for (size_t i = 0; i + order <= symbols.size(); ++i)
    ++counts[Symbols(symbols.begin() + i, symbols.begin() + i + order)];
  return counts;
}

int64_t common(const Counts& a, const Counts& b) {
  int64_t total = 0;
  for (const auto& [ngram, count] : a) {
    if (const auto other = b.find(ngram); other != b.end()) total += std::min(count, other->second);
  }
  return total;
}

int64_t num_ngrams(const Symbols& symbols, size_t order) {
  return symbols.size() < order ? 0 : static_cast<int64_t>(symbols.size() - order + 1);
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

/// Punctuation that mteval 13a always sets apart: all of ASCII but ' , - . and what is alphanumeric.
bool is_set_apart(char c) {
  return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') ||
         (c >= '(' && c <= '+') || (c >= ':' && c <= '@') || c == '/';
}

/// The rules of mteval 13a in their order; each looks at the text that the one before left.
std::string tokenized_13a(std::string_view source) {
  std::string text(source);
  replace_all(text, "<skipped>", "");
  replace_all(text, "-\n", "");
  replace_all(text, "\n", " ");
  for (const auto& [entity, sign] : {std::pair{"&quot;", "\""}, {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}})
    replace_all(text, entity, sign);
  std::string apart;
  for (const char c : " " + text + " ") apart += is_set_apart(c) ? std::string{' ', c, ' '} : std::string{c};
  // A full stop or comma behind what is no digit; matches don't overlap.
  std::string behind;
  for (size_t i = 0; i < apart.size(); ++i) {
    behind += apart[i];
    const bool is_stop = i + 1 < apart.size() && (apart[i + 1] == '.' || apart[i + 1] == ',');
    if (!is_digit(apart[i]) && is_stop) behind += std::string{' ', apart[++i], ' '};
  }
  std::string before;
  for (size_t i = 0; i < behind.size(); ++i) {
    const bool is_stop = behind[i] == '.' || behind[i] == ',';
    if (is_stop && i + 1 < behind.size() && !is_digit(behind[i + 1])) {
      before += std::string{' ', behind[i], ' ', behind[i + 1]};
      ++i;
    } else {
      before += behind[i];
    }
  }
  std::string dashes;
  for (size_t i = 0; i < before.size(); ++i) {
    dashes += before[i];
    if (is_digit(before[i]) && i + 1 < before.size() && before[i + 1] == '-')
      dashes += std::string{' ', before[++i], ' '};
  }
  return dashes;
}

Symbols words_13a(std::string_view text, Vocabulary& vocabulary) {
  const std::string tokenized = tokenized_13a(text);
  Symbols result;
  std::string word;
  for (size_t pos = 0; pos <= tokenized.size();) {
    const size_t begin = pos;
    const uint32_t c = pos < tokenized.size() ? next_code_point(tokenized, pos) : ' ';
    if (!is_space(c)) {
      word.append(tokenized, begin, pos - begin);
    } else if (!word.empty()) {
      result.push_back(vocabulary.id(word));
      word.clear();
    }
    if (begin == tokenized.size()) break;
  }
  return result;
}

}  // namespace

int64_t longest_common_subsequence(const Symbols& a, const Symbols& b) {
  // Bit i of `row` is 0 where the subsequence of a[0..i] and the part of b so far is longer than that of
  // a[0..i-1] (Hyyro 2004, in blocks of 64).
  const size_t num_words = (a.size() + 63) / 64;
  std::unordered_map<uint32_t, std::vector<uint64_t>> places;
  for (size_t i = 0; i < a.size(); ++i) {
    std::vector<uint64_t>& bits = places[a[i]];
    bits.resize(num_words);
    bits[i / 64] |= uint64_t{1} << (i % 64);
  }
  std::vector<uint64_t> row(num_words, ~uint64_t{0});
  for (const uint32_t symbol : b) {
    const auto bits = places.find(symbol);
    if (bits == places.end()) continue;
    uint64_t carry = 0;
    for (size_t w = 0; w < num_words; ++w) {
      const uint64_t matches = row[w] & bits->second[w];
      const uint64_t partial = row[w] + matches;
      const uint64_t sum = partial + carry;
      carry = (partial < row[w]) | (sum < partial);
      row[w] = sum | (row[w] & ~bits->second[w]);
    }
  }
  int64_t length = 0;
  for (size_t i = 0; i < a.size(); ++i) length += (row[i / 64] >> (i % 64) & 1) == 0;
  return length;
}

double rouge_l(std::string_view text, std::string_view reference) {
  Vocabulary vocabulary;
  const Symbols a = ascii_words(text, vocabulary), b = ascii_words(reference, vocabulary);
  if (a.empty() || b.empty()) return 0.0;
  const auto common_length = static_cast<double>(longest_common_subsequence(a, b));
  return harmonic(common_length / static_cast<double>(a.size()),
                  common_length / static_cast<double>(b.size()));
}

double fuzzy_match(std::string_view text, std::string_view reference) {
  const Symbols a = code_points(text), b = code_points(reference);
  if (a.empty() && b.empty()) return 1.0;
  return 2.0 * static_cast<double>(longest_common_subsequence(a, b)) /
         static_cast<double>(a.size() + b.size());
}

double sentence_bleu(std::string_view text, std::string_view reference) {
  constexpr size_t kOrder = 4;
  Vocabulary vocabulary;
  const Symbols a = words_13a(text, vocabulary), b = words_13a(reference, vocabulary);
  double log_precisions = 0.0, smoothing = 1.0;
  int64_t effective_order = 0, num_matches = 0;
  for (size_t order = 1; order <= kOrder; ++order) {
    const int64_t total = num_ngrams(a, order);
    if (total == 0) break;
    ++effective_order;
    const int64_t matches = common(count_ngrams(a, order), count_ngrams(b, order));
    num_matches += matches;
    if (matches == 0) smoothing *= 2.0;
    const double precision = matches > 0 ? static_cast<double>(matches) / static_cast<double>(total)
                                         : 1.0 / (smoothing * static_cast<double>(total));
    log_precisions += std::log(precision);
  }
  if (num_matches == 0) return 0.0;
  const double ratio = static_cast<double>(b.size()) / static_cast<double>(a.size());
  const double brevity = ratio > 1.0 ? std::exp(1.0 - ratio) : 1.0;
  return brevity * std::exp(log_precisions / static_cast<double>(effective_order));
}

double chrf(std::string_view text, std::string_view reference) {
  constexpr size_t kOrder = 6;
  constexpr double kBetaSquared = 4.0;
  Symbols a = code_points(text), b = code_points(reference);
  std::erase_if(a, is_space);
  std::erase_if(b, is_space);
  double precision = 0.0, recall = 0.0;
  int64_t effective_order = 0;
  for (size_t order = 1; order <= kOrder; ++order) {
    const int64_t num_text = num_ngrams(a, order), num_reference = num_ngrams(b, order);
    if (num_text == 0 || num_reference == 0) continue;
    const auto matches = static_cast<double>(common(count_ngrams(a, order), count_ngrams(b, order)));
    precision += matches / static_cast<double>(num_text);
    recall += matches / static_cast<double>(num_reference);
    ++effective_order;
  }
  if (effective_order == 0 || precision + recall == 0.0) return 0.0;
  precision /= static_cast<double>(effective_order);
  recall /= static_cast<double>(effective_order);
  return (1.0 + kBetaSquared) * precision * recall / (kBetaSquared * precision + recall);
}

}  // namespace cohort
