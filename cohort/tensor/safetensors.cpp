// Reader: map, parse the header, check every rule of the layout, hand out views. Writer: header, then bytes
// in order.
#include "cohort/tensor/safetensors.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <set>
#include <tuple>

#include "cohort/core/error.h"
#include "cohort/core/foreign_format.h"
#include "cohort/tensor/mapped_file.h"
#include "cohort/tensor/strict_json.h"

namespace cohort {
namespace {

constexpr uint64_t kLengthBytes = 8;
constexpr uint64_t kMaxHeaderBytes = 100'000'000;
constexpr size_t kMaxDims = 64;

struct DtypeName {
  const char* name;
  at::ScalarType dtype;
};
// In the order in which the reference writer places them, which keeps every tensor aligned to its element
// size.
constexpr std::array<DtypeName, 10> kDtypes{{{"I64", at::kLong},
                                             {"F64", at::kDouble},
                                             {"F32", at::kFloat},
                                             {"I32", at::kInt},
                                             {"BF16", at::kBFloat16},
                                             {"F16", at::kHalf},
                                             {"I16", at::kShort},
                                             {"I8", at::kChar},
                                             {"U8", at::kByte},
                                             {"BOOL", at::kBool}}};

at::ScalarType dtype_named(const nlohmann::json& name, const std::string& where) {
  for (const DtypeName& known : kDtypes) {
    if (name == known.name) return known.dtype;
  }
  throw FormatError(str(where, ": dtype ", name.dump(), " is not supported"));
}

// Index into kDtypes.
size_t rank_of(at::ScalarType dtype, const std::string& where) {
  for (size_t i = 0; i < kDtypes.size(); ++i) {
    if (dtype == kDtypes[i].dtype) return i;
  }
  throw FormatError(str(where, ": dtype ", at::toString(dtype), " cannot be written"));
}

uint64_t unsigned_number(const nlohmann::json& value, const std::string& where, const char* what) {
  if (!value.is_number_unsigned()) {
    throw FormatError(str(where, ": ", what, " ", value.dump(), " is not a whole number of at most 64 bits"));
  }
  return value.get<uint64_t>();
}

const nlohmann::json& list_field(const nlohmann::json& entry, const char* key, const std::string& where) {
  auto found = entry.find(key);
  if (found == entry.end() || !found->is_array()) throw FormatError(str(where, ": has no list '", key, "'"));
  return *found;
}

// Bytes of a tensor of this shape. Zero sizes count as one in the overflow check: strides are products of
// those.
uint64_t checked_num_bytes(const std::vector<int64_t>& shape, at::ScalarType dtype,
                           const std::string& where) {
  uint64_t product = c10::elementSize(dtype);
  bool is_empty = false;
  for (int64_t size : shape) {
    is_empty |= size == 0;
    uint64_t factor = size == 0 ? 1 : static_cast<uint64_t>(size);
    if (__builtin_mul_overflow(product, factor, &product) || product > INT64_MAX) {
      throw FormatError(str(where, ": shape ", nlohmann::json(shape).dump(), " overflows"));
    }
  }
  return is_empty ? 0 : product;
}

TensorInfo parse_entry(const nlohmann::json& entry, const std::string& where) {
  if (!entry.is_object()) throw FormatError(str(where, ": is not an object"));
  if (!entry.contains("dtype")) throw FormatError(str(where, ": has no 'dtype'"));
  TensorInfo info{dtype_named(entry["dtype"], where), {}};
  const nlohmann::json& shape = list_field(entry, "shape", where);
  if (shape.size() > kMaxDims) throw FormatError(str(where, ": has more than ", kMaxDims, " dimensions"));
  for (const nlohmann::json& size : shape) {
    uint64_t number = unsigned_number(size, where, "size");
    if (number > INT64_MAX) throw FormatError(str(where, ": size ", number, " overflows"));
    info.shape.push_back(static_cast<int64_t>(number));
  }
  const nlohmann::json& offsets = list_field(entry, "data_offsets", where);
  if (offsets.size() != 2) throw FormatError(str(where, ": data_offsets ", offsets.dump(), " is not a pair"));
  info.begin = unsigned_number(offsets[0], where, "offset");
  info.end = unsigned_number(offsets[1], where, "offset");
  if (info.end < info.begin)
    throw FormatError(str(where, ": data_offsets ", offsets.dump(), " are reversed"));
  uint64_t expected = checked_num_bytes(info.shape, info.dtype, where);
  if (info.end - info.begin != expected) {
    throw FormatError(str(where, ": data_offsets ", offsets.dump(), " span ", info.end - info.begin,
                          " bytes but shape ", shape.dump(), " of ", entry["dtype"].dump(), " takes ",
                          expected));
  }
  return info;
}

}  // namespace

std::string in_quotes(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : path_(path), mapping_(std::make_shared<const MappedFile>(path)) {
  const std::string where = path.string();
  uint64_t num_file_bytes = mapping_->num_bytes();
  if (num_file_bytes < kLengthBytes) {
    throw FormatError(str(where, ": ends after ", num_file_bytes, " bytes, before the header's length"));
  }
  uint64_t num_header_bytes = 0;
  std::memcpy(&num_header_bytes, mapping_->data(), kLengthBytes);
  refuse_lfs_pointer({reinterpret_cast<const char*>(mapping_->data()), num_file_bytes}, where);
  if (num_header_bytes > kMaxHeaderBytes) {
    throw FormatError(str(where, ": the header's length ", num_header_bytes, " is above ", kMaxHeaderBytes));
  }
  if (num_header_bytes > num_file_bytes - kLengthBytes) {
    throw FormatError(str(where, ": ends at byte ", num_file_bytes, ", inside the header of ",
                          num_header_bytes, " bytes; the file is cut short"));
  }
  const auto* text = reinterpret_cast<const char*>(mapping_->data() + kLengthBytes);
  read_header(std::string(text, num_header_bytes));
  data_ = mapping_->data() + kLengthBytes + num_header_bytes;
  check_layout(num_file_bytes - kLengthBytes - num_header_bytes);
}

void SafetensorsFile::read_header(const std::string& text) {
  const std::string where = str(path_.string(), ": header");
  nlohmann::json header = parse_strict_object(text, where);
  for (const auto& [name, entry] : header.items()) {
    if (name != "__metadata__") {
      tensors_.emplace(name, parse_entry(entry, str(path_.string(), ": tensor ", in_quotes(name))));
      continue;
    }
    if (!entry.is_object()) throw FormatError(str(where, ": __metadata__ is not an object"));
    for (const auto& [key, value] : entry.items()) {
      if (!value.is_string())
        throw FormatError(str(where, ": __metadata__ ", in_quotes(key), " is not a string"));
      metadata_.emplace(key, value.get<std::string>());
    }
  }
}

void SafetensorsFile::check_layout(uint64_t num_data_bytes) const {
  std::vector<const std::pair<const std::string, TensorInfo>*> in_order;
  in_order.reserve(tensors_.size());
  for (const auto& entry : tensors_) in_order.push_back(&entry);
  std::sort(in_order.begin(), in_order.end(), [](const auto* left, const auto* right) {
    return std::pair(left->second.begin, left->second.end) <
           std::pair(right->second.begin, right->second.end);
  });
  uint64_t position = 0;
  for (const auto* entry : in_order) {
    const TensorInfo& info = entry->second;
    const std::string where = str(path_.string(), ": tensor ", in_quotes(entry->first));
    if (info.begin > position) {
      throw FormatError(
          str(where, ": begins at offset ", info.begin, ", which leaves a hole from ", position));
    }
    if (info.begin < position) {
      throw FormatError(
          str(where, ": begins at offset ", info.begin, ", inside the tensor that ends at ", position));
    }
    if (info.end > num_data_bytes) {
      throw FormatError(str(where, ": ends at offset ", info.end, " but the file has only ", num_data_bytes,
                            " bytes of data; the file is cut short"));
    }
    position = info.end;
  }
  if (position != num_data_bytes) {
    throw FormatError(str(path_.string(), ": ", num_data_bytes - position,
                          " bytes follow the last tensor, at offset ", position));
  }
}

at::Tensor SafetensorsFile::tensor(const std::string& name) const {
  auto found = tensors_.find(name);
  if (found == tensors_.end()) throw FormatError(str(path_.string(), ": has no tensor ", in_quotes(name)));
  const TensorInfo& info = found->second;
  if (info.begin == info.end) return at::empty(info.shape, info.dtype);
  auto* bytes = const_cast<std::byte*>(data_ + info.begin);
  if (reinterpret_cast<uintptr_t>(bytes) % c10::elementSize(info.dtype) != 0) {
    at::Tensor copy = at::empty(info.shape, info.dtype);
    std::memcpy(copy.data_ptr(), bytes, info.end - info.begin);
    return copy;
  }
  auto keep_alive = [mapping = mapping_](void*) {};
  return at::from_blob(bytes, info.shape, keep_alive, at::TensorOptions(info.dtype));
}

// A file under a temporary name, which the destructor removes unless `publish` gave it its final one.
class PendingFile {
 public:
  explicit PendingFile(const std::filesystem::path& path) : path_(path), temporary_(path.string() + ".tmp") {
    file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file_ < 0) fail("be created");
  }
  ~PendingFile() {
    if (file_ >= 0) ::close(file_);
    std::error_code ignored;
    std::filesystem::remove(temporary_, ignored);
  }
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  void write(const void* data, uint64_t num_bytes, uint64_t place) {
    const char* next = static_cast<const char*>(data);
    while (num_bytes > 0) {
      ssize_t written = ::pwrite(file_, next, num_bytes, static_cast<off_t>(place));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail("be written");
      next += written;
      place += static_cast<uint64_t>(written);
      num_bytes -= static_cast<uint64_t>(written);
    }
  }

  void publish() {
    if (::fsync(file_) != 0) fail("be synced");
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("be renamed");
    const std::filesystem::path parent = path_.has_parent_path() ? path_.parent_path() : ".";
    int directory = ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool synced = directory >= 0 && ::fsync(directory) == 0;
    if (directory >= 0) ::close(directory);
    if (!synced) fail("be made lasting");
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw FormatError(str(path_.string(), ": cannot ", what, ": ", std::strerror(errno)));
  }

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int file_ = -1;
};

namespace {

struct PlacedTensor {
  size_t rank;  ///< index into kDtypes
  std::string name;
  at::Tensor tensor;
};

// By dtype, then by name.
std::vector<PlacedTensor> in_file_order(const NamedTensors& tensors, const std::string& where) {
  std::vector<PlacedTensor> ordered;
  std::set<std::string_view> names;
  for (const auto& [name, tensor] : tensors) {
    COHORT_CHECK(names.insert(name).second, where, ": two tensors are named ", in_quotes(name));
    COHORT_CHECK(name != "__metadata__", where, ": a tensor takes the name of the metadata");
    ordered.push_back(
        {rank_of(tensor.scalar_type(), str(where, ": tensor ", in_quotes(name))), name, tensor});
  }
  std::sort(ordered.begin(), ordered.end(), [](const PlacedTensor& left, const PlacedTensor& right) {
    return std::tie(left.rank, left.name) < std::tie(right.rank, right.name);
  });
  return ordered;
}

std::string header_text(const std::vector<PlacedTensor>& ordered) {
  std::string header = R"({"__metadata__":{"format":"pt"})";
  uint64_t offset = 0;
  for (const auto& [rank, name, tensor] : ordered) {
    uint64_t end = offset + tensor.nbytes();
    header +=
        str(",", in_quotes(name), R"(:{"dtype":")", kDtypes[rank].name, R"(","shape":)",
            nlohmann::json(tensor.sizes().vec()).dump(), R"(,"data_offsets":[)", offset, ",", end, "]}");
    offset = end;
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  return header;
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path, const NamedTensors& tensors) {
  const std::vector<PlacedTensor> ordered = in_file_order(tensors, path.string());
  const std::string header = header_text(ordered);
  file_ = std::make_unique<PendingFile>(path);
  const uint64_t num_header_bytes = header.size();
  file_->write(&num_header_bytes, kLengthBytes, 0);
  file_->write(header.data(), header.size(), kLengthBytes);
  uint64_t place = kLengthBytes + header.size();
  for (const auto& [rank, name, tensor] : ordered) {
    TensorInfo info{tensor.scalar_type(), tensor.sizes().vec(), place, place + tensor.nbytes()};
    place = info.end;
    missing_.emplace(name, std::move(info));
  }
}

SafetensorsWriter::~SafetensorsWriter() = default;

void SafetensorsWriter::put(const std::string& name, const at::Tensor& tensor) {
  const auto info = missing_.find(name);
  COHORT_CHECK(info != missing_.end() && tensor.sizes() == at::IntArrayRef(info->second.shape) &&
                   tensor.scalar_type() == info->second.dtype,
               "the file has no place for tensor ", in_quotes(name));
  const at::Tensor contiguous = tensor.detach().cpu().contiguous();
  file_->write(contiguous.const_data_ptr(), contiguous.nbytes(), info->second.begin);
  missing_.erase(info);
}

void SafetensorsWriter::publish() {
  COHORT_CHECK(missing_.empty(), "the file lacks tensor ", in_quotes(missing_.begin()->first));
  file_->publish();
}

void write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors) {
  SafetensorsWriter file(path, tensors);
  for (const auto& [name, tensor] : tensors) file.put(name, tensor);
  file.publish();
}

}  // namespace cohort
