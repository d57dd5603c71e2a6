#include "apps/sandboxd/layers.h"

namespace cohort {
namespace {

struct LayerText {
  const char* meaning;
  const char* mend;
};

constexpr LayerText kTexts[] = {
#define LAYER(Name, name, meaning, mend) {meaning, mend},
#include "cohort/rewards/sandbox_layers.def"
#undef LAYER
};

// Without one of these a program can reach what is outside.
LayerSet essential_layers() {
  return {Layer::kUser,         Layer::kFiles,   Layer::kPids,  Layer::kNetwork,
          Layer::kCapabilities, Layer::kSeccomp, Layer::kLimits};
}

bool has_any(LayerSet set, LayerSet others) { return set.without(others).names() != set.names(); }

}  // namespace

LayerSet LayerSet::all() { return LayerSet((uint32_t{1} << kNumLayers) - 1); }

std::optional<LayerSet> LayerSet::parse(std::string_view names) {
  LayerSet set;
  while (!names.empty()) {
    const size_t end = names.find(',');
    const std::string_view name = names.substr(0, end);
    names = end == std::string_view::npos ? std::string_view() : names.substr(end + 1);
    int index = 0;
    while (index < kNumLayers && name != kLayerNames[index]) ++index;
    if (index == kNumLayers) return std::nullopt;
    set.add(static_cast<Layer>(index));
  }
  return set;
}

std::string LayerSet::names() const {
  std::string text;
  for (int index = 0; index < kNumLayers; ++index) {
    if (!has(static_cast<Layer>(index))) continue;
    if (!text.empty()) text += ", ";
    text += kLayerNames[index];
  }
  return text;
}

std::string level(LayerSet missing) {
  if (missing.is_empty()) return "FULL";
  if (has_any(missing, essential_layers())) return "NONE";
  return "PARTIAL(" + missing.names() + ")";
}

bool is_sufficient(LayerSet missing, LayerSet waived) {
  return !has_any(missing, essential_layers()) && missing.without(waived).is_empty();
}

std::string explain(LayerSet missing) {
  std::string text;
  for (int index = 0; index < kNumLayers; ++index) {
    if (!missing.has(static_cast<Layer>(index))) continue;
    if (!text.empty()) text += "\n";
    text += std::string("layer ") + kLayerNames[index] + " is missing (" + kTexts[index].meaning +
            "). To mend it: " + kTexts[index].mend;
  }
  return text;
}

}  // namespace cohort
