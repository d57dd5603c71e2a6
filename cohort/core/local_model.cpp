#include "cohort/core/local_model.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>

#include "cohort/core/error.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

bool is_name(const fs::path& part) {
  const std::string text = part.string();
  return !text.empty() && std::isalnum(static_cast<unsigned char>(text[0])) != 0 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_';
         });
}

/// Two names with a slash between them.
bool is_hub_id(const fs::path& model) { return is_name(model.parent_path()) && is_name(model.filename()); }

fs::path variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// As huggingface_hub/constants.py finds it.
fs::path hub_cache() {
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"})
    if (const fs::path cache = variable(name); !cache.empty()) return cache;
  if (const fs::path home = variable("HF_HOME"); !home.empty()) return home / "hub";
  const fs::path cache = variable("XDG_CACHE_HOME");
  return (cache.empty() ? variable("HOME") / ".cache" : cache) / "huggingface/hub";
}

}  // namespace

fs::path local_model(const fs::path& model) {
  if (!is_hub_id(model) || fs::is_directory(model)) return model;
  const fs::path folder =
      hub_cache() / str("models--", model.parent_path().string(), "--", model.filename().string());
  std::string commit;
  std::ifstream(folder / "refs/main") >> commit;
  const fs::path snapshot = folder / "snapshots" / commit;
  return is_name(commit) && fs::is_directory(snapshot) ? snapshot : model;
}

std::string download_advice(const fs::path& model) {
  if (!is_hub_id(model)) return "";
  return str(" (if it is a model of the Hugging Face Hub, download it: hf download ", model.string(), ")");
}

}  // namespace cohort
