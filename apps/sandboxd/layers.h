// The layers of the sandbox by name, and the level that those which hold add up to.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

namespace cohort {

enum class Layer : uint8_t {
#define LAYER(Name, name, meaning, mend) k##Name,
#include "cohort/rewards/sandbox_layers.def"
#undef LAYER
};

constexpr const char* kLayerNames[] = {
#define LAYER(Name, name, meaning, mend) #name,
#include "cohort/rewards/sandbox_layers.def"
#undef LAYER
};

constexpr int kNumLayers = std::size(kLayerNames);

class LayerSet {
 public:
  LayerSet() = default;
  LayerSet(std::initializer_list<Layer> layers) {
    for (Layer layer : layers) add(layer);
  }
  static LayerSet all();

  /// Reads "memory,processes"; nothing when a name is unknown.
  static std::optional<LayerSet> parse(std::string_view names);

  bool has(Layer layer) const { return (bits_ >> static_cast<int>(layer) & 1) != 0; }
  void add(Layer layer) { bits_ |= uint32_t{1} << static_cast<int>(layer); }
  LayerSet without(LayerSet others) const { return LayerSet(bits_ & ~others.bits_); }
  bool is_empty() const { return bits_ == 0; }

  /// The names with ", " between them.
  std::string names() const;

 private:
  explicit LayerSet(uint32_t bits) : bits_(bits) {}

  uint32_t bits_ = 0;
};

/// FULL when nothing is missing, NONE when what is missing leaves no sandbox, else PARTIAL(missing layers).
std::string level(LayerSet missing);

/// Whether a run that waives `waived` may start: never at NONE.
bool is_sufficient(LayerSet missing, LayerSet waived);

/// For each missing layer a line with its meaning and how to mend it.
std::string explain(LayerSet missing);

}  // namespace cohort
