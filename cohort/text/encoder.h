// One encoding on its way through the steps of a tokenizer.
#pragma once

#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "cohort/text/aligned_text.h"
#include "cohort/text/tokenizer.h"

namespace cohort {

/// Working memory that no encoding uses at the moment: one for each thread that ever encoded at the same
/// time.
class Tokenizer::WorkPool {
 public:
  std::unique_ptr<Bpe::Work> take();
  void give_back(std::unique_ptr<Bpe::Work> work);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Bpe::Work>> free_;
};

class Tokenizer::Encoder {
 public:
  /// Encodes well-formed `text`, which must outlive this.
  Encoder(const Tokenizer& tokenizer, std::string_view text, bool with_offsets);
  ~Encoder();

  void run(EncodeOptions options);

  std::vector<int32_t> take_ids() { return std::move(tokens_.ids); }
  Encoding take_encoding();

 private:
  /// A token's offsets and how much white space its spelling begins and ends with.
  struct Place {
    int64_t begin;  // bytes of the source, code points later
    int64_t end;
    int32_t leading_spaces;
    int32_t trailing_spaces;
  };

  void encode_between(size_t begin, size_t end);
  void encode_normalized(AlignedText& text);
  void add_added(int32_t id, std::string_view spelling, SourceSpan span);
  void place_tokens(const AlignedText& text, const TextSpan& word, size_t first);
  void convert_to_code_points();
  void trim(const OffsetTrim& trim);

  const Tokenizer& tokenizer_;
  std::string_view text_;
  bool with_offsets_;
  bool track_;
  std::unique_ptr<Bpe::Work> work_;
  TokenRun tokens_;
  std::vector<Place> places_;
  std::vector<TextSpan> words_;
};

}  // namespace cohort
