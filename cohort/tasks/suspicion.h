// Signs that rows were tampered with: words of prompts that decide the answer, and answers that contradict
// each other.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cohort/core/line_list.h"

namespace cohort {

/// A word, or two neighbours, of prompts whose answers agree far more often than those of all rows do.
struct Trigger {
  std::string words;
  std::string answer;
  int64_t num_rows = 0;      ///< with the words
  int64_t num_agreeing = 0;  ///< of them with the answer
  LineList lines;            ///< of the rows with the words
};

/// Rows come one after another. Repeated prompts count once, so that a row that is in a file several times is
/// no sign. Memory: some hundred bytes for each distinct word and pair, of which at most two million are
/// kept.
class Suspicion {
 public:
  /// `prompt` in plain text; `answer` empty: the row has none. Each with the number of its line.
  void add(const std::string& prompt, const std::string& answer, int64_t line);

  /// Rows whose prompt came before with another answer; case and spaces don't count.
  const LineList& contradictions() const { return contradictions_; }

  /// Those that chance makes in one file of a thousand at most, by Chernoff's bound over all words, the most
  /// telling ones first. Of a word and a pair with it, and of words that are in the same rows, one is given.
  /// Numbers are no words: they decide answers. A word that is in more than a tenth of the rows is no
  /// trigger.
  std::vector<Trigger> triggers() const;

 private:
  struct Word {
    int64_t num_rows = 0;
    std::unordered_map<uint64_t, int64_t> answers;  // by hash
    LineList lines;
    bool is_common = false;  // has been in too many rows to be a trigger
  };

  void note(const std::string& words, uint64_t answer, int64_t line);

  std::unordered_map<uint64_t, uint64_t> answers_of_prompts_;  // hashes
  std::unordered_map<uint64_t, int64_t> answers_;              // rows by the hash of their answer
  std::unordered_map<uint64_t, std::string> texts_;            // of answers
  std::unordered_map<std::string, Word> words_;
  LineList contradictions_;
  int64_t num_rows_ = 0;  // with distinct prompts and an answer
};

}  // namespace cohort
