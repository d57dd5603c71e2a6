#include "cohort/train/run/checkpoint.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "cohort/core/atomic_file.h"
#include "cohort/core/error.h"
#include "cohort/tensor/safetensors.h"
#include "cohort/tensor/values.h"
#include "cohort/tensor/weight_files.h"

namespace cohort {

namespace fs = std::filesystem;

namespace {

/// Tensors, each to the rank with the fewest bytes; ranks that get none are left out.
std::vector<NamedTensors> share_out(const NamedTensors& tensors, int64_t num_ranks) {
  std::vector<NamedTensors> shares(num_ranks);
  std::vector<uint64_t> num_bytes(num_ranks);
  for (const auto& [name, tensor] : tensors) {
    const auto least = std::ranges::min_element(num_bytes) - num_bytes.begin();
    shares[least].emplace_back(name, tensor);
    num_bytes[least] += tensor.nbytes();
  }
  std::erase_if(shares, [](const NamedTensors& share) { return share.empty(); });
  return shares;
}

/// A file of tensors that processes write together, each a shard of its own. All of them must be told all
/// tensors.
class SharedFile {
 public:
  /// `path` names the file if it has one shard.
  SharedFile(const fs::path& path, const NamedTensors& tensors, int64_t num_shards, dist::Group& processes)
      : shards_(share_out(tensors, num_shards)) {
    const size_t rank = processes.rank();
    if (processes.is_first()) {
      make_directories(path.parent_path());
      if (shards_.size() > 1) write_index(path.parent_path(), path.filename(), shards_);
    }
    processes.barrier("the folder of a checkpoint");
    if (rank >= shards_.size()) return;
    writer_.emplace(path.parent_path() / shard_name(path.filename(), rank, shards_.size()), shards_[rank]);
    for (const auto& [name, tensor] : shards_[rank]) own_.insert(name);
  }

  void put(const std::string& name, const at::Tensor& values) {
    if (own_.contains(name)) writer_->put(name, values);
  }

  void publish() {
    if (writer_) writer_->publish();
  }

 private:
  std::vector<NamedTensors> shards_;
  std::optional<SafetensorsWriter> writer_;
  std::set<std::string> own_;
};

bool is_view_of(const at::Tensor& view, const at::Tensor& leaf) {
  return view.storage().unsafeGetStorageImpl() == leaf.storage().unsafeGetStorageImpl();
}

void write_weights(const fs::path& path, const TrainedPart& part, dist::Group& processes) {
  const bool is_shared_out =
      std::ranges::any_of(part.weights, [](const auto& entry) { return !has_values(entry.second); });
  SharedFile file(path, part.weights, is_shared_out ? processes.size() : 1, processes);
  for (const auto& [name, weight] : part.weights) {
    if (has_values(weight)) file.put(name, weight);
  }
  if (is_shared_out) {
    part.optimizer->read_masters([&](const at::Tensor& leaf) {
      for (const auto& [name, weight] : part.weights) {
        if (is_view_of(weight, leaf)) file.put(name, weight);
      }
    });
  }
  file.publish();
}

void write_moments(const fs::path& path, const AdamW& optimizer, dist::Group& processes) {
  SharedFile file(path, optimizer.moments_like(), processes.size(), processes);
  optimizer.read_moments([&](const std::string& name, const at::Tensor& values) { file.put(name, values); });
  file.publish();
}

/// A file, or its shards.
WeightReader open_file(const fs::path& path) {
  return WeightReader::open(path.parent_path(), path.filename());
}

/// The tensor, which must have these sizes.
at::Tensor read_tensor(const WeightReader& file, const fs::path& path, const std::string& name,
                       at::IntArrayRef sizes) {
  at::Tensor saved = file.tensor(name);
  if (saved.sizes() != sizes) {
    throw FormatError(
        cohort::str(path.string(), ": tensor \"", name, "\" is ", saved.sizes(), ", the model's is ", sizes));
  }
  return saved;
}

void restore_weights(const fs::path& path, const TrainedPart& part) {
  const WeightReader file = open_file(path);
  NamedTensors shared_out;
  for (const auto& [name, weight] : part.weights) {
    if (!has_values(weight)) {
      shared_out.emplace_back(name, weight);
      continue;
    }
    weight.copy_(read_tensor(file, path, name, weight.sizes()));
  }
  if (shared_out.empty()) return;
  part.optimizer->write_masters([&](const at::Tensor& leaf) {
    for (const auto& [name, weight] : shared_out) {
      if (is_view_of(weight, leaf)) weight.copy_(read_tensor(file, path, name, weight.sizes()));
    }
  });
}

void restore_moments(const fs::path& path, AdamW& optimizer) {
  const WeightReader file = open_file(path);
  std::map<std::string, at::Tensor> like;
  for (const auto& [name, tensor] : optimizer.moments_like()) like.emplace(name, tensor);
  optimizer.write_moments(
      [&](const std::string& name) { return read_tensor(file, path, name, like.at(name).sizes()); });
}

fs::path weights_of(const fs::path& directory, const TrainedPart& part) {
  const fs::path earlier = directory / (part.prefix + "weights.safetensors");
  return fs::exists(earlier) ? earlier : directory / (part.prefix + part.weight_file);
}

fs::path moments_of(const fs::path& directory, const TrainedPart& part) {
  return directory / (part.prefix + "optimizer.safetensors");
}

}  // namespace

void save_checkpoint(const fs::path& temporary, const fs::path& final, const std::vector<TrainedPart>& parts,
                     const Json& state, const std::function<void(const fs::path&)>& add_files,
                     dist::Group& processes) {
  if (processes.is_first()) {
    retire_directory(temporary);
    make_directories(temporary);
  }
  Json whole = state;
  for (const TrainedPart& part : parts) {
    write_weights(temporary / (part.prefix + part.weight_file), part, processes);
    if (part.optimizer == nullptr) continue;
    write_moments(moments_of(temporary, part), *part.optimizer, processes);
    whole[part.prefix + "num_updates"] = part.optimizer->num_updates();
  }
  processes.barrier("the files of a checkpoint");
  if (!processes.is_first()) return;
  if (add_files) add_files(temporary);
  write_json(temporary / "state.json", whole);
  publish_directory(temporary, final);
}

Json load_checkpoint(const fs::path& directory, const std::vector<TrainedPart>& parts) {
  const at::NoGradGuard no_grad;
  Json state = read_json(directory / "state.json");
  for (const TrainedPart& part : parts) {
    restore_weights(weights_of(directory, part), part);
    if (part.optimizer == nullptr) continue;
    restore_moments(moments_of(directory, part), *part.optimizer);
    part.optimizer->set_num_updates(state.at(part.prefix + "num_updates").get<int64_t>());
  }
  return state;
}

}  // namespace cohort
