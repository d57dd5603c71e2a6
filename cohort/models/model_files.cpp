#include "cohort/models/model_files.h"

#include "cohort/core/atomic_file.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

bool is_weight_file(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".safetensors") || name.ends_with(".safetensors.index.json") ||
         name.ends_with(".bin") || name.ends_with(".bin.index.json") || name.ends_with(".gguf") ||
         name.ends_with(".pt") || name.ends_with(".pth");
}

}  // namespace

bool is_floating(at::ScalarType dtype) {
  return dtype == at::kFloat || dtype == at::kBFloat16 || dtype == at::kHalf || dtype == at::kDouble;
}

void write_directory(const fs::path& path, const std::function<void(const fs::path&)>& fill) {
  const fs::path temporary = path.string() + ".tmp";
  retire_directory(temporary);
  fs::create_directories(temporary);
  fill(temporary);
  retire_directory(path);
  publish_directory(temporary, path);
}

void copy_other_files(const fs::path& model_dir, const fs::path& target_dir, const std::string& but) {
  for (const fs::directory_entry& entry : fs::directory_iterator(model_dir)) {
    const fs::path name = entry.path().filename();
    if (entry.is_regular_file() && !is_weight_file(entry.path()) && name != but) {
      fs::copy_file(entry.path(), target_dir / name);
    }
  }
}

void copy_text_files(const fs::path& model_dir, const fs::path& target_dir) {
  copy_other_files(model_dir, target_dir, "config.json");
  fs::remove(target_dir / "generation_config.json");
}

}  // namespace cohort
