// The sampling defaults of a model's generation_config.json, which have no effect on rollouts.
#pragma once

#include <filesystem>
#include <string>

namespace cohort {

/// What the file would have other programs do, such as "temperature 0.6, top_p 0.95"; empty where it says
/// nothing of sampling. Throws FormatError when the file is malformed.
std::string ignored_sampling_defaults(const std::filesystem::path& model_dir);

/// Says in one line of the log that these are ignored, if there are any.
void log_ignored_sampling_defaults(const std::filesystem::path& model_dir);

}  // namespace cohort
