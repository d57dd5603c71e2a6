#include "cohort/models/model_files.h"

#include <algorithm>
#include <iterator>

#include "cohort/core/atomic_file.h"
#include "cohort/core/local_model.h"
#include "cohort/models/model_directory.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

/// Weights in any format that model repositories hold.
bool is_weight_file(const fs::path& path) {
  const std::string name = path.filename().string();
  constexpr const char* kEnds[] = {".safetensors", ".safetensors.index.json",
                                   ".bin",         ".bin.index.json",
                                   ".gguf",        ".pt",
                                   ".pth",         ".h5",
                                   ".msgpack",     ".onnx",
                                   ".onnx_data"};
  return std::any_of(std::begin(kEnds), std::end(kEnds),
                     [&](const char* end) { return name.ends_with(end); });
}

}  // namespace

bool is_floating(at::ScalarType dtype) {
  return dtype == at::kFloat || dtype == at::kBFloat16 || dtype == at::kHalf || dtype == at::kDouble;
}

void write_directory(const fs::path& path, const std::function<void(const fs::path&)>& fill) {
  const fs::path temporary = path.string() + ".tmp";
  retire_directory(temporary);
  make_directories(temporary);
  fill(temporary);
  retire_directory(path);
  publish_directory(temporary, path);
}

void copy_other_files(const fs::path& model_dir, const fs::path& target_dir, const std::string& but) {
  const bool has_state = is_checkpoint(model_dir);
  for (const fs::directory_entry& entry : fs::directory_iterator(local_model(model_dir))) {
    const fs::path name = entry.path().filename();
    if (has_state && name == "state.json") continue;
    if (entry.is_regular_file() && !is_weight_file(entry.path()) && name != but) {
      fs::copy_file(entry.path(), target_dir / name);
    }
  }
}

void copy_chat_template(const fs::path& file, const fs::path& target_dir) {
  const auto replace = fs::copy_options::overwrite_existing;
  if (!file.empty()) fs::copy_file(file, target_dir / "chat_template.jinja", replace);
}

void copy_text_files(const fs::path& model_dir, const fs::path& target_dir) {
  copy_other_files(model_dir, target_dir, "config.json");
  fs::remove(target_dir / "generation_config.json");
}

}  // namespace cohort
