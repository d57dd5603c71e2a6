// Shard names come from a file that anyone may have written: only plain names in the model's own directory
// are opened.
#include "cohort/tensor/weight_files.h"

#include <cerrno>
#include <cstdio>
#include <set>

#include "cohort/core/atomic_file.h"
#include "cohort/core/error.h"
#include "cohort/core/file_error.h"
#include "cohort/core/input_file.h"
#include "cohort/core/json.h"
#include "cohort/core/local_model.h"
#include "cohort/tensor/strict_json.h"

namespace cohort {
namespace {

constexpr const char* kSingleFile = "model.safetensors";
constexpr const char* kIndexFile = "model.safetensors.index.json";

bool is_plain_shard_name(const std::string& name) {
  const std::string suffix = ".safetensors";
  return name.size() > suffix.size() &&
         name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0 && name.front() != '.' &&
         name.find_first_of(std::string("/\\\0", 3)) == std::string::npos;
}

// Tensor name -> shard's file name.
std::map<std::string, std::string> read_index(const std::filesystem::path& path) {
  const std::string text = read_whole_file(path);
  nlohmann::json index = parse_strict_object(text, path.string());
  auto weight_map = index.find("weight_map");
  if (weight_map == index.end() || !weight_map->is_object()) {
    throw FormatError(str(path.string(), ": has no object 'weight_map'"));
  }
  std::map<std::string, std::string> shard_of;
  for (const auto& [name, shard] : weight_map->items()) {
    if (!shard.is_string() || !is_plain_shard_name(shard.get<std::string>())) {
      throw FormatError(str(path.string(), ": tensor ", in_quotes(name), " lies in ", shard.dump(),
                            ", which is not the plain name of a .safetensors file"));
    }
    shard_of.emplace(name, shard.get<std::string>());
  }
  return shard_of;
}

}  // namespace

WeightReader WeightReader::open(const std::filesystem::path& model_dir, const std::string& file) {
  const std::filesystem::path directory = local_model(model_dir);
  WeightReader reader(directory, file);
  if (std::filesystem::exists(directory / file)) {
    reader.add_file(file);
    return reader;
  }
  if (!std::filesystem::exists(directory / reader.index_file_)) {
    throw FileError(ENOENT, str(directory.string(), ": holds neither ", file, " nor ", reader.index_file_,
                                file == kSingleFile ? "; save the model in the safetensors format" : ""));
  }
  const std::map<std::string, std::string> shard_of = read_index(directory / reader.index_file_);
  std::set<std::string> shards;
  for (const auto& [name, shard] : shard_of) shards.insert(shard);
  for (const std::string& shard : shards) reader.add_file(shard);
  reader.check_index(shard_of);
  return reader;
}

void WeightReader::add_file(const std::string& file_name) {
  files_.emplace_back(model_dir_ / file_name);
  for (const auto& [name, info] : files_.back().tensors()) {
    auto [place, is_new] = file_of_.emplace(name, files_.size() - 1);
    if (!is_new) {
      throw FormatError(str(files_.back().path().string(), ": tensor ", in_quotes(name), " is also in ",
                            files_[place->second].path().string()));
    }
  }
}

void WeightReader::check_index(const std::map<std::string, std::string>& shard_of) const {
  for (const auto& [name, shard] : shard_of) {
    auto found = file_of_.find(name);
    if (found == file_of_.end() || files_[found->second].path().filename() != shard) {
      throw FormatError(str((model_dir_ / shard).string(), ": has no tensor ", in_quotes(name), ", which ",
                            index_file_, " says it holds"));
    }
  }
  for (const auto& [name, file] : file_of_) {
    if (shard_of.count(name) == 0) {
      throw FormatError(
          str(files_[file].path().string(), ": tensor ", in_quotes(name), " is not listed in ", index_file_));
    }
  }
}

const SafetensorsFile& WeightReader::file_of(const std::string& name) const {
  auto found = file_of_.find(name);
  if (found == file_of_.end())
    throw FormatError(str(model_dir_.string(), ": has no tensor ", in_quotes(name)));
  return files_[found->second];
}

std::vector<std::string> WeightReader::names() const {
  std::vector<std::string> result;
  result.reserve(file_of_.size());
  for (const auto& [name, file] : file_of_) result.push_back(name);
  return result;
}

const TensorInfo& WeightReader::info(const std::string& name) const {
  return file_of(name).tensors().at(name);
}

at::Tensor WeightReader::tensor(const std::string& name) const { return file_of(name).tensor(name); }

namespace {

void require_no_weights(const std::filesystem::path& model_dir) {
  for (const auto& entry : std::filesystem::directory_iterator(model_dir)) {
    const std::string name = entry.path().filename().string();
    if (name == kIndexFile || is_plain_shard_name(name)) {
      throw FormatError(str(entry.path().string(), ": exists; write the model into an empty directory"));
    }
  }
}

std::vector<NamedTensors> cut_into_shards(const NamedTensors& tensors, int64_t max_shard_bytes) {
  std::vector<NamedTensors> shards(1);
  int64_t num_bytes = 0;
  for (const auto& entry : tensors) {
    auto size = static_cast<int64_t>(entry.second.nbytes());
    if (!shards.back().empty() && num_bytes + size > max_shard_bytes) {
      shards.emplace_back();
      num_bytes = 0;
    }
    shards.back().push_back(entry);
    num_bytes += size;
  }
  return shards;
}

}  // namespace

std::string shard_name(const std::string& file, size_t index, size_t count) {
  if (count == 1) return file;
  char place[48];
  std::snprintf(place, sizeof place, "-%05zu-of-%05zu", index + 1, count);
  const std::filesystem::path path(file);
  return path.stem().string() + place + path.extension().string();
}

void write_index(const std::filesystem::path& directory, const std::string& file,
                 const std::vector<NamedTensors>& shards) {
  nlohmann::json weight_map = nlohmann::json::object();
  int64_t total_size = 0, total_parameters = 0;
  for (size_t i = 0; i < shards.size(); ++i) {
    for (const auto& [name, tensor] : shards[i]) {
      weight_map[name] = shard_name(file, i, shards.size());
      total_size += static_cast<int64_t>(tensor.nbytes());
      total_parameters += tensor.numel();
    }
  }
  const nlohmann::json index = {
      {"metadata", {{"total_parameters", total_parameters}, {"total_size", total_size}}},
      {"weight_map", std::move(weight_map)}};
  write_file_atomically(directory / (file + ".index.json"), index.dump(2) + "\n");
}

void write_weights(const std::filesystem::path& model_dir, const NamedTensors& tensors,
                   int64_t max_shard_bytes) {
  require_no_weights(model_dir);
  const std::vector<NamedTensors> shards = cut_into_shards(tensors, max_shard_bytes);
  for (size_t i = 0; i < shards.size(); ++i)
    write_safetensors(model_dir / shard_name(kSingleFile, i, shards.size()), shards[i]);
  if (shards.size() > 1) write_index(model_dir, kSingleFile, shards);
}

}  // namespace cohort
