// How alike two texts are, 0 to 1, as the reference implementations count it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace cohort {

/// The length of the longest common subsequence, in time |a| * |b| / 64.
int64_t longest_common_subsequence(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b);

/// ROUGE-L F1 (Lin 2004) over lower-case words of ASCII letters and digits, without stemming: rouge-score's
/// rougeL.
double rouge_l(std::string_view text, std::string_view reference);

/// 2 LCS / (|a| + |b|) over code points: RapidFuzz's fuzz.ratio / 100.
double fuzzy_match(std::string_view text, std::string_view reference);

/// BLEU-4 of one sentence (Papineni 2002), tokenised as mteval 13a does, with exponential smoothing and the
/// effective order: sacrebleu's sentence_bleu / 100.
double sentence_bleu(std::string_view text, std::string_view reference);

/// chrF2 over code points, n-grams of 1 to 6 without white space (Popovic 2015): sacrebleu's sentence_chrf /
/// 100.
double chrf(std::string_view text, std::string_view reference);

}  // namespace cohort
