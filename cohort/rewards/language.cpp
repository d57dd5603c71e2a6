#include "cohort/rewards/language.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <unordered_map>

#include "libs/common/unicode.h"
#include "libs/common/utf8.h"

namespace cohort {
namespace {

/// Languages that their script alone tells; of "latn" and "cyrl" trigrams decide.
struct ScriptRange {
  char32_t first, last;
  const char* script;
};

constexpr ScriptRange kScripts[] = {
    {0x41, 0x5A, "latn"},    {0x61, 0x7A, "latn"},     {0xC0, 0xD6, "latn"},    {0xD8, 0xF6, "latn"},
    {0xF8, 0x24F, "latn"},   {0x370, 0x3FF, "el"},     {0x400, 0x52F, "cyrl"},  {0x530, 0x58F, "hy"},
    {0x5D0, 0x5EA, "he"},    {0x620, 0x6D3, "ar"},     {0x900, 0x963, "hi"},    {0x980, 0x9E3, "bn"},
    {0xB80, 0xBE5, "ta"},    {0xC00, 0xC63, "te"},     {0xE01, 0xE4E, "th"},    {0x10D0, 0x10FF, "ka"},
    {0x1100, 0x11FF, "ko"},  {0x1E00, 0x1EFF, "latn"}, {0x3041, 0x30FF, "ja"},  {0x3400, 0x4DBF, "han"},
    {0x4E00, 0x9FFF, "han"}, {0xAC00, 0xD7A3, "ko"},   {0xF900, 0xFAFF, "han"}, {0x20000, 0x323AF, "han"}};

const char* script_of(char32_t c) {
  const auto* range = std::find_if(std::begin(kScripts), std::end(kScripts),
                                   [c](const ScriptRange& r) { return c >= r.first && c <= r.last; });
  return range == std::end(kScripts) ? nullptr : range->script;
}

bool stands_alone(std::string_view script) { return script == "han" || script == "ja"; }

/// Three letters of a word in lower case, a space for its edges.
using Trigram = std::array<char32_t, 3>;

template <typename F>
void for_each_trigram(const std::u32string& word, F f) {
  const std::u32string padded = U" " + word + U" ";
  for (size_t i = 0; i + 3 <= padded.size(); ++i) f(Trigram{padded[i], padded[i + 1], padded[i + 2]});
}

struct Word {
  std::u32string letters;  ///< lower case
  std::string script;
};

std::vector<Word> words_of(std::string_view text) {
  std::vector<Word> words;
  bool is_open = false;
  for (size_t pos = 0; pos < text.size();) {
    const char32_t c = next_code_point(text, pos);
    const char* script = script_of(c);
    if (script == nullptr) {
      is_open = false;
      continue;
    }
    if (!is_open || stands_alone(script) || words.back().script != script) words.push_back({{}, script});
    words.back().letters += to_lowercase(c);
    is_open = !stands_alone(script);
  }
  return words;
}

/// Logarithms of the frequencies of a language's trigrams.
class Profile {
 public:
  Profile(std::string code, std::string_view sample) : code_(std::move(code)) {
    int64_t total = 0;
    for (const Word& word : words_of(sample)) {
      script_ = word.script;
      for_each_trigram(word.letters, [&](const Trigram& trigram) {
        logs_[trigram] += 1.0;
        ++total;
      });
    }
    // A language may have some 4000 trigrams, each seen a tenth of a time before.
    constexpr double kKinds = 4000.0, kBefore = 0.1;
    const double sum = static_cast<double>(total) + kKinds * kBefore;
    for (auto& [trigram, value] : logs_) value = std::log((value + kBefore) / sum);
    log_unseen_ = std::log(kBefore / sum);
  }

  const std::string& code() const { return code_; }
  const std::string& script() const { return script_; }

  double log_likelihood(const std::vector<Word>& words) const {
    double sum = 0.0;
    for (const Word& word : words) {
      if (word.script != script_) continue;
      for_each_trigram(word.letters, [&](const Trigram& trigram) {
        const auto entry = logs_.find(trigram);
        sum += entry == logs_.end() ? log_unseen_ : entry->second;
      });
    }
    return sum;
  }

 private:
  std::string code_, script_;
  std::map<Trigram, double> logs_;
  double log_unseen_ = 0.0;
};

const std::vector<Profile>& profiles() {
  static const std::vector<Profile> all = {
#define SAMPLE(code, text) {code, text},
#include "cohort/rewards/language_samples.def"
#undef SAMPLE
  };
  return all;
}

/// What is no prose: code and formulas become white space.
std::string without_formulas(std::string_view text) {
  constexpr std::pair<std::string_view, std::string_view> kPairs[] = {
      {"```", "```"}, {"$$", "$$"}, {"$", "$"}, {"\\(", "\\)"}, {"\\[", "\\]"}, {"`", "`"}};
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const auto* pair = std::find_if(std::begin(kPairs), std::end(kPairs),
                                    [&](const auto& p) { return text.substr(at).starts_with(p.first); });
    const size_t close =
        pair == std::end(kPairs) ? std::string_view::npos : text.find(pair->second, at + pair->first.size());
    if (close == std::string_view::npos) {
      result += text[at++];
    } else {
      result += ' ';
      at = close + pair->second.size();
    }
  }
  return result;
}

std::vector<std::string_view> sentences_of(std::string_view text) {
  constexpr std::string_view kEnds[] = {"\n", ". ", "! ", "? ", "; ", "\u3002", "\uff01", "\uff1f", "\u0964"};
  std::vector<std::string_view> sentences;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const auto* end = std::find_if(std::begin(kEnds), std::end(kEnds),
                                   [&](std::string_view e) { return text.substr(at).starts_with(e); });
    at += end == std::end(kEnds) ? 1 : end->size();
    if (end == std::end(kEnds) && at < text.size()) continue;
    sentences.push_back(text.substr(begin, at - begin));
    begin = at;
  }
  return sentences;
}

/// The script of most words; Han with kana is Japanese.
std::string main_script(const std::vector<Word>& words) {
  std::map<std::string, int64_t> counts;
  for (const Word& word : words) ++counts[word.script];
  if (counts.contains("ja")) {
    counts["ja"] += counts["han"];
    counts.erase("han");
  }
  const auto most = std::max_element(counts.begin(), counts.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? "?" : most->first;
}

std::string by_trigrams(const std::string& script, const std::vector<Word>& words) {
  const Profile* best = nullptr;
  double best_value = 0.0;
  for (const Profile& profile : profiles()) {
    if (profile.script() != script) continue;
    const double value = profile.log_likelihood(words);
    if (best == nullptr || value > best_value) {
      best = &profile;
      best_value = value;
    }
  }
  return best == nullptr ? script : best->code();
}

struct Sentence {
  std::string script;
  std::vector<Word> words;
  int64_t num_letters = 0;
};

std::vector<Sentence> read_sentences(std::string_view text) {
  std::vector<Sentence> sentences;
  for (const std::string_view part : sentences_of(text)) {
    Sentence sentence{{}, words_of(part), 0};
    // Names of variables are no words.
    std::erase_if(sentence.words,
                  [](const Word& w) { return w.letters.size() == 1 && !stands_alone(w.script); });
    if (sentence.words.empty()) continue;
    sentence.script = main_script(sentence.words);
    for (const Word& word : sentence.words) sentence.num_letters += static_cast<int64_t>(word.letters.size());
    sentences.push_back(std::move(sentence));
  }
  return sentences;
}

}  // namespace

std::vector<LanguageSpan> language_spans(std::string_view text) {
  constexpr int64_t kMinLetters = 12;
  const std::string prose = without_formulas(text);
  const std::vector<Sentence> sentences = read_sentences(prose);
  // What short sentences are taken for: the language of all of the script's words together.
  std::map<std::string, std::vector<Word>> words_by_script;
  for (const Sentence& sentence : sentences) {
    std::vector<Word>& words = words_by_script[sentence.script];
    words.insert(words.end(), sentence.words.begin(), sentence.words.end());
  }
  std::map<std::string, std::string> languages;
  for (const auto& [script, words] : words_by_script) languages[script] = by_trigrams(script, words);
  std::vector<LanguageSpan> spans;
  for (const Sentence& sentence : sentences) {
    std::string language = sentence.num_letters < kMinLetters ? languages[sentence.script]
                                                              : by_trigrams(sentence.script, sentence.words);
    if (language == "han") language = languages.contains("ja") ? "ja" : "zh";
    spans.push_back({std::move(language), static_cast<int64_t>(sentence.words.size())});
  }
  return spans;
}

std::string main_language(std::string_view text) {
  std::map<std::string, int64_t> counts;
  for (const LanguageSpan& span : language_spans(text)) counts[span.language] += span.num_words;
  const auto most = std::max_element(counts.begin(), counts.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? "?" : most->first;
}

std::vector<std::string> known_languages() {
  std::vector<std::string> codes{"zh"};
  for (const ScriptRange& range : kScripts) {
    const std::string script = range.script;
    const bool is_language = script != "latn" && script != "cyrl" && script != "han";
    if (is_language && std::find(codes.begin(), codes.end(), script) == codes.end()) codes.push_back(script);
  }
  for (const Profile& profile : profiles()) codes.push_back(profile.code());
  std::sort(codes.begin(), codes.end());
  return codes;
}

}  // namespace cohort
