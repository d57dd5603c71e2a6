#include "cohort/view/page_asset.h"

#include <cstdio>
#include <vector>

#include "libs/common/hash.h"

namespace cohort {

#define ASSET(function, path, content_type) std::string_view function();
#include "page_assets.def"
#undef ASSET

const PageAsset* find_page_asset(std::string_view path) {
  static const std::vector<PageAsset> assets{
#define ASSET(function, path, content_type) {path, content_type, function()},
#include "page_assets.def"
#undef ASSET
  };
  for (const PageAsset& asset : assets) {
    if (asset.path == path) return &asset;
  }
  return nullptr;
}

std::string entity_tag(const PageAsset& asset) {
  char text[24];
  std::snprintf(text, sizeof text, "\"%016llx\"", static_cast<unsigned long long>(fnv1a(asset.bytes)));
  return text;
}

}  // namespace cohort
