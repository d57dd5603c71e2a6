// The files of the page, which the program carries.
#pragma once

#include <string>
#include <string_view>

namespace cohort {

struct PageAsset {
  std::string_view path;  ///< of the request: "/" or "/assets/NAME"
  std::string_view content_type;
  std::string_view bytes;
};

/// Null for a path that is not one of the page (cmake/PageAssets.cmake).
const PageAsset* find_page_asset(std::string_view path);

/// Changes with the bytes of the file: for ETag.
std::string entity_tag(const PageAsset& asset);

}  // namespace cohort
