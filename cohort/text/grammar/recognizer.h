// Reads a text of a grammar symbol by symbol and knows all ways in which it may go on.
#pragma once

#include <bitset>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cohort/text/grammar/grammar.h"

namespace cohort {

/// Where a reading stands. A copy reads on by itself.
class Recognizer {
 public:
  /// A state of the grammar, and the calls that have not returned.
  struct Place {
    Grammar::State state;
    int32_t frame;  ///< -1: none
    auto operator<=>(const Place&) const = default;
  };

  /// All places where a reading may be; sorted.
  using Places = std::vector<Place>;

  /// The number of a set of places. kDead: the text is none of the language.
  using Position = int32_t;
  static constexpr Position kDead = -1;

  /// `bytes` are those that can be written. Throws UserError if no text of the language consists of them,
  /// and if a rule calls itself before it reads anything.
  Recognizer(const Grammar& grammar, const std::bitset<256>& bytes);

  Position begin() const { return begin_; }
  Position next(Position position, Symbol symbol);

  /// Whether the text may end here.
  bool may_end(Position position) const { return positions_[position].may_end; }

  /// Whether anything may follow.
  bool may_continue(Position position) const { return positions_[position].may_continue; }

  std::shared_ptr<const Places> places(Position position) const { return positions_[position].places; }

  /// The special tokens that may come next.
  std::vector<int32_t> special_ids(Position position) const;

  int64_t num_positions() const { return static_cast<int64_t>(positions_.size()); }

  /// Forgets all positions but that of the beginning.
  void forget();

  /// The position of these places, as places() gave them; forget() does not change what they mean.
  Position find(const Places& places);

 private:
  struct Frame {
    Grammar::State to;  ///< where the call returns
    int32_t parent;
    auto operator<=>(const Frame&) const = default;
  };
  struct Known {
    std::shared_ptr<const Places> places;
    std::vector<Position> next;  ///< by class of symbols; kUnknown: not asked for yet
    bool may_end;
    bool may_continue;
  };

  void drop_dead_ends(const std::bitset<256>& bytes);
  void find_classes(const std::bitset<256>& bytes);
  int class_of(Symbol symbol) const;
  int32_t frame(Frame frame);
  Places closed(const Places& begins);

  std::vector<Grammar::Node> nodes_;
  std::vector<Grammar::Ends> rules_;
  std::vector<bool> is_end_;       // of a rule, by state
  std::vector<int> byte_classes_;  // -1: no edge has this byte
  std::unordered_map<Symbol, int> special_classes_;
  std::vector<Symbol> representatives_;  // a symbol of each class
  std::vector<Frame> frames_;
  std::map<Frame, int32_t> frame_numbers_;
  std::vector<Known> positions_;
  std::map<Places, Position> numbers_;
  Position begin_ = kDead;
};

}  // namespace cohort
