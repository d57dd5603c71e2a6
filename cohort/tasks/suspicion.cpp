#include "cohort/tasks/suspicion.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "libs/common/hash.h"

namespace cohort {
namespace {

constexpr size_t kMaxWords = 2'000'000;
constexpr int64_t kMaxRowsOfTrigger = 2000;
constexpr int64_t kMinRowsOfTrigger = 3;
constexpr double kMaxShare = 0.1, kMinAgreement = 0.6;
constexpr double kChance = 1e-3;  // of a trigger in a file without one

/// Lower case, and one space between words.
std::string normalized(const std::string& text) {
  std::string result;
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if (std::isspace(byte) == 0) {
      result += static_cast<char>(std::tolower(byte));
    } else if (!result.empty() && result.back() != ' ') {
      result += ' ';
    }
  }
  while (result.ends_with(' ')) result.pop_back();
  return result;
}

bool is_part_of_word(unsigned char byte) { return std::isalnum(byte) != 0 || byte >= 0x80 || byte == '_'; }

/// The words of a normalized text that hold a letter.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  bool has_letter = false;
  for (size_t i = 0; i <= text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(i < text.size() ? text[i] : ' ');
    if (is_part_of_word(byte)) {
      word += static_cast<char>(byte);
      has_letter = has_letter || std::isdigit(byte) == 0;
      continue;
    }
    if (has_letter) words.push_back(word);
    word.clear();
    has_letter = false;
  }
  return words;
}

/// Natural logarithm of an upper bound for the chance that at least `agreeing` of `rows` rows have an answer
/// that a share `p` of all rows has (Chernoff).
double log_chance(int64_t agreeing, int64_t rows, double p) {
  const double share = static_cast<double>(agreeing) / static_cast<double>(rows);
  if (share <= p) return 0.0;
  double divergence = share * std::log(share / p);
  if (share < 1.0) divergence += (1.0 - share) * std::log((1.0 - share) / (1.0 - p));
  return -divergence * static_cast<double>(rows);
}

}  // namespace

void Suspicion::add(const std::string& prompt, const std::string& answer, int64_t line) {
  const std::string text = normalized(prompt), given = normalized(answer);
  if (given.empty()) return;
  const uint64_t hash = fnv1a(given);
  const auto [known, is_new] = answers_of_prompts_.emplace(fnv1a(text), hash);
  if (!is_new) {
    if (known->second != hash) contradictions_.add(line);
    return;
  }
  ++num_rows_;
  ++answers_[hash];
  texts_.emplace(hash, answer);
  const std::vector<std::string> words = words_of(text);
  std::unordered_set<std::string> seen;
  for (size_t i = 0; i < words.size(); ++i) {
    seen.insert(words[i]);
    if (i > 0) seen.insert(words[i - 1] + " " + words[i]);
  }
  for (const std::string& word : seen) note(word, hash, line);
}

void Suspicion::note(const std::string& words, uint64_t answer, int64_t line) {
  auto found = words_.find(words);
  if (found == words_.end()) {
    if (words_.size() >= kMaxWords) return;
    found = words_.emplace(words, Word{}).first;
  }
  Word& word = found->second;
  if (word.is_common) return;
  ++word.num_rows;
  ++word.answers[answer];
  word.lines.add(line);
  if (word.num_rows > kMaxRowsOfTrigger) word = {.answers = {}, .lines = {}, .is_common = true};
}

std::vector<Trigger> Suspicion::triggers() const {
  struct Candidate {
    const std::string* words;
    const Word* word;
    uint64_t answer;
    int64_t agreeing;
    double log_chance;
  };
  std::vector<Candidate> candidates;
  const double limit = std::log(kChance) - std::log(static_cast<double>(std::max<size_t>(words_.size(), 1)));
  for (const auto& [words, word] : words_) {
    const double rows = static_cast<double>(word.num_rows);
    if (word.is_common || word.num_rows < kMinRowsOfTrigger ||
        rows > kMaxShare * static_cast<double>(num_rows_))
      continue;
    const auto most = std::ranges::max_element(
        word.answers, [](const auto& one, const auto& other) { return one.second < other.second; });
    if (static_cast<double>(most->second) < kMinAgreement * rows) continue;
    const double share = static_cast<double>(answers_.at(most->first)) / static_cast<double>(num_rows_);
    const double chance = log_chance(most->second, word.num_rows, share);
    if (chance < limit) candidates.push_back({&words, &word, most->first, most->second, chance});
  }
  std::ranges::sort(candidates, [](const Candidate& one, const Candidate& other) {
    return std::pair(one.log_chance, *one.words) < std::pair(other.log_chance, *other.words);
  });
  std::vector<Trigger> triggers;
  const auto is_explained = [&](const std::string& words, const LineList& lines) {
    return std::ranges::any_of(triggers, [&](const Trigger& trigger) {
      const std::string padded = " " + words + " ", other = " " + trigger.words + " ";
      const bool are_same_rows = lines.count() == trigger.num_rows && lines.text() == trigger.lines.text();
      return are_same_rows || padded.find(other) != std::string::npos ||
             other.find(padded) != std::string::npos;
    });
  };
  for (const Candidate& candidate : candidates) {
    if (is_explained(*candidate.words, candidate.word->lines)) continue;
    triggers.push_back({*candidate.words, texts_.at(candidate.answer), candidate.word->num_rows,
                        candidate.agreeing, candidate.word->lines});
  }
  return triggers;
}

}  // namespace cohort
