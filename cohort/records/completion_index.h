// completions.index of a run: a row of 48 bytes for each line of its completions, so that millions of them
// are sorted and filtered without reading their text.
//
// The file is "COHORTI1" and the rows, little-endian, in the order of the lines. It can always be made again
// from the lines, and is where it is missing or does not fit them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

class CompletionFiles;
class CompletionLines;

/// What the index knows of a completion. The layout is that of the file.
struct CompletionEntry {
  int64_t place = 0;    ///< first byte of the line in its file, decompressed
  uint64_t prompt = 0;  ///< fnv1a() of the prompt's id
  uint32_t file = 0;    ///< first step of the file: completions/<file>.jsonl.zst once it is compressed
  uint32_t step = 0;
  uint32_t length = 0;      ///< bytes of the line, without its end
  uint32_t num_tokens = 0;  ///< sampled tokens, counted by `logprobs`
  float reward = 0.0F;      ///< NaN where it is null
  float advantage = 0.0F;   ///< NaN where it is null
  int32_t sample = 0;       ///< of its prompt; -1 is the greedy one
  uint32_t flags = 0;       ///< bits of CompletionFlag
};
static_assert(sizeof(CompletionEntry) == 48);

enum CompletionFlag : uint32_t {
  kIsCut = 1,            ///< finish_reason is "length"
  kIsMasked = 2,         ///< carries no loss
  kIsUntrained = 4,      ///< drawn, and not trained on
  kHasFailedReward = 8,  ///< a reward's status is neither ok nor skipped
  kHasInjected = 16,     ///< tokens of tools or environments
  kIsDemonstration = 32,
  kHasFailedEnvironment = 64,
};

/// The entry of a line of completions.jsonl. Throws FormatError for a line that is no completion.
CompletionEntry completion_entry(std::string_view line, int64_t place, uint32_t file);

/// All completions of a run. Reads the index's file, and the lines that it lacks; follows a run that goes on.
/// Writes nothing. Not thread-safe.
class CompletionIndex {
 public:
  explicit CompletionIndex(const std::filesystem::path& run);

  /// Takes in what the run wrote since. Returns whether anything changed. Throws FormatError for damaged
  /// files.
  bool update();

  /// In the order of the lines: steps ascend. Valid until the next update().
  std::span<const CompletionEntry> entries() const { return entries_; }

  /// Counts how often all entries were read anew. Until then, entries are only added behind the others.
  int64_t num_loads() const { return num_loads_; }

  /// The line of an entry, without its end. Throws FormatError if the run's files no longer have it.
  std::string line(const CompletionEntry& entry) const;

 private:
  bool extend();
  bool add_rows_of_index();
  void load();

  std::filesystem::path run_;
  std::vector<CompletionEntry> entries_;
  std::shared_ptr<const CompletionFiles> files_;  ///< of `entries_`; null before the first update()
  std::shared_ptr<CompletionLines> lines_;
  int64_t num_loads_ = 0;
  int64_t num_indexed_ = 0;   ///< the first so many entries are rows of the index
  int64_t num_left_out_ = 0;  ///< rows of the index whose files are gone
  int64_t gap_end_ = 0;       ///< the first entry whose row comes after all those
};

/// Places in `numbers`, numbers of entries, in the order of their lines: read so, each compressed file is
/// read once.
std::vector<size_t> line_order(std::span<const uint32_t> numbers);

}  // namespace cohort
