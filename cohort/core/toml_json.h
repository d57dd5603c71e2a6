// TOML files as JSON values, for whoever reads a recipe without its settings' types.
#pragma once

#include <filesystem>

#include "cohort/core/json.h"

namespace cohort {

/// A TOML file: tables are objects with sorted keys, arrays are arrays. Dates and times are texts, and so are
/// numbers that JSON lacks ("nan", "inf", "-inf"). Throws FormatError naming the file, and the line of
/// malformed TOML.
Json read_toml(const std::filesystem::path& path);

}  // namespace cohort
