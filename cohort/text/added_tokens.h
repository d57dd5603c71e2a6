// Tokens outside the model's vocabulary, such as <|im_start|>: found in the text before anything else happens
// to it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cohort/text/component.h"
#include "cohort/text/normalizer.h"

namespace cohort {

struct AddedToken {
  int32_t id = 0;
  std::string content;
  bool special = false;      ///< left out of decoded text on request
  bool lstrip = false;       ///< swallows the white space before it
  bool rstrip = false;       ///< swallows the white space behind it
  bool single_word = false;  ///< does not match beside a word character
  bool normalized = false;   ///< looked for in the normalized text
};

/// Reads "added_tokens". Ids must be those that Hugging Face's reader assigns: the vocabulary's for a token
/// in it, else the next free one. Throws FormatError naming the token.
std::vector<AddedToken> parse_added_tokens(const TokenizerJson& list,
                                           const std::unordered_map<std::string, int32_t>& vocabulary);

/// A piece of text, in bytes: an added token, or text between.
struct AddedTokenPiece {
  std::optional<int32_t> id;
  size_t begin;
  size_t end;
};

/// Finds the longest of its tokens at the leftmost place, again and again.
class AddedTokenMatcher {
 public:
  /// Takes those of `tokens` whose `normalized` is as given; such contents are normalized by `normalizer`
  /// first.
  AddedTokenMatcher(const std::vector<AddedToken>& tokens, bool normalized, const Normalizer& normalizer);

  /// Cuts `text`. O(size of `text` x longest token).
  std::vector<AddedTokenPiece> split(std::string_view text) const;

 private:
  struct Node {
    std::vector<std::pair<char, int>> children;
    int token = -1;  // index into tokens_
  };

  void insert(const std::string& content, int token);
  int child(int node, char byte) const;
  size_t next_candidate(std::string_view text, size_t pos) const;
  /// The longest token at `begin`, and its end.
  std::optional<std::pair<int, size_t>> match_at(std::string_view text, size_t begin) const;

  std::vector<AddedToken> tokens_;
  std::array<bool, 256> begins_token_{};  // by first byte
  std::string first_bytes_;               // the same as a list
  std::vector<Node> trie_ = std::vector<Node>(1);
};

}  // namespace cohort
