// Tensors in one file or in several under an index, as in a Hugging Face model directory: model.safetensors,
// or shards under model.safetensors.index.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "cohort/tensor/safetensors.h"

namespace cohort {

/// All tensors of a model directory by name. Immutable; const methods may be called from several threads.
class WeightReader {
 public:
  /// Maps the file, or its shards, and checks them against the index: every tensor in the shard that lists
  /// it, none unlisted. Throws FormatError naming the file and tensor at fault.
  static WeightReader open(const std::filesystem::path& model_dir,
                           const std::string& file = "model.safetensors");

  /// Ascending.
  std::vector<std::string> names() const;

  bool contains(const std::string& name) const { return file_of_.count(name) > 0; }

  /// Dtype and shape without touching the data. Throws FormatError when there is no such tensor.
  const TensorInfo& info(const std::string& name) const;

  /// A view of the mapped file, see SafetensorsFile::tensor. Throws FormatError when there is no such tensor.
  at::Tensor tensor(const std::string& name) const;

 private:
  WeightReader(std::filesystem::path model_dir, const std::string& file)
      : model_dir_(std::move(model_dir)), index_file_(file + ".index.json") {}
  void add_file(const std::string& file_name);
  void check_index(const std::map<std::string, std::string>& shard_of) const;
  const SafetensorsFile& file_of(const std::string& name) const;

  std::filesystem::path model_dir_;
  std::string index_file_;
  std::vector<SafetensorsFile> files_;
  std::map<std::string, size_t> file_of_;  ///< tensor name -> index into files_
};

/// The name of a shard of `file`, such as "model-00001-of-00002.safetensors"; of a single one, the file's.
std::string shard_name(const std::string& file, size_t index, size_t count);

/// Writes the index of `file`: which shard has which tensor. Of the tensors, names, sizes and dtypes
/// count alone.
void write_index(const std::filesystem::path& directory, const std::string& file,
                 const std::vector<NamedTensors>& shards);

constexpr int64_t kDefaultMaxShardBytes = 5'000'000'000;

/// Writes model.safetensors, or shards of at most `max_shard_bytes` (a larger tensor gets a shard of its own)
/// with an index, into a directory without weight files. Tensors keep their order across shards. Throws
/// FormatError when weight files are already there or the system refuses.
void write_weights(const std::filesystem::path& model_dir, const NamedTensors& tensors,
                   int64_t max_shard_bytes = kDefaultMaxShardBytes);

}  // namespace cohort
