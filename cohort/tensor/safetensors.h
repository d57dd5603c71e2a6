// One safetensors file: a strict, memory-mapped reader and an atomic writer.
//
// The format: header length N (u64, little-endian), N bytes of JSON, then the tensors' bytes; offsets count
// from the end of the header. The reader refuses everything that the reference reader refuses, and duplicate
// names too.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cohort {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

/// What the header says about one tensor.
struct TensorInfo {
  at::ScalarType dtype;
  std::vector<int64_t> shape;
  uint64_t begin = 0;  ///< bytes from the end of the header
  uint64_t end = 0;
};

class MappedFile;

/// Immutable after construction; const methods may be called from several threads.
class SafetensorsFile {
 public:
  /// Maps and checks the file. Throws FormatError naming the file and the tensor or byte at fault.
  explicit SafetensorsFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }

  /// By name, ascending.
  const std::map<std::string, TensorInfo>& tensors() const { return tensors_; }

  /// The strings of `__metadata__`.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  /// A CPU tensor that views the file (a copy where the file's bytes are not aligned) and keeps the mapping
  /// alive. Writing to it never reaches the file. Throws FormatError when there is no such tensor.
  at::Tensor tensor(const std::string& name) const;

 private:
  void read_header(const std::string& text);
  void check_layout(uint64_t num_data_bytes) const;

  std::filesystem::path path_;
  std::shared_ptr<const MappedFile> mapping_;
  const std::byte* data_ = nullptr;
  std::map<std::string, TensorInfo> tensors_;
  std::map<std::string, std::string> metadata_;
};

/// Writes a file whose tensors come one by one: to a temporary file, which publish() syncs and renames to
/// `path`. Without it nothing is left. All functions throw FormatError when the system refuses.
class SafetensorsWriter {
 public:
  /// Of `tensors`, whose names are distinct, names, sizes and dtypes count alone. Throws FormatError if a
  /// dtype has no place in the format.
  SafetensorsWriter(const std::filesystem::path& path, const NamedTensors& tensors);
  ~SafetensorsWriter();
  SafetensorsWriter(const SafetensorsWriter&) = delete;
  SafetensorsWriter& operator=(const SafetensorsWriter&) = delete;

  /// Writes the values of one of the tensors; any device and layout, in any order, each once.
  void put(const std::string& name, const at::Tensor& tensor);

  /// Throws InternalError if a tensor is missing.
  void publish();

 private:
  std::unique_ptr<class PendingFile> file_;
  std::map<std::string, TensorInfo> missing_;  // with places that count from the begin of the file
};

/// Writes `tensors` (any device and layout; the names are distinct) to a temporary file, syncs and renames it
/// to `path`. Throws FormatError when the system refuses or a dtype has no place in the format.
void write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors);

/// Text in quotes, with control characters escaped, fit for a one-line message.
std::string in_quotes(const std::string& text);

}  // namespace cohort
