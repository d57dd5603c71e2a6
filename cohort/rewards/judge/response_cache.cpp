#include "cohort/rewards/judge/response_cache.h"

#include <unistd.h>

#include <iomanip>

#include "cohort/core/atomic_file.h"
#include "cohort/core/error.h"
#include "cohort/core/input_file.h"
#include "cohort/core/json_depth.h"
#include "cohort/core/log.h"
#include "libs/common/hash.h"
#include "libs/common/random.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

/// The answer, where the entry is whole and of this request.
std::optional<std::string> read_entry(const std::string& content, const std::string& request) {
  constexpr int kMaxDepth = 64;
  if (json_too_deep_at(content, kMaxDepth) != std::string::npos) return std::nullopt;
  const Json entry = Json::parse(content, nullptr, false);
  if (!entry.is_object() || !entry.contains("request") || !entry.contains("answer")) return std::nullopt;
  if (!entry["answer"].is_string() || to_json_text(entry["request"]) != request) return std::nullopt;
  return entry["answer"].get<std::string>();
}

}  // namespace

ResponseCache::ResponseCache(fs::path folder, const std::string& where) : folder_(std::move(folder)) {
  const fs::path probe = folder_ / str("probe-", ::getpid());
  try {
    fs::create_directories(folder_);
    write_file_atomically(probe, "");
    fs::remove(probe);
  } catch (const std::exception& error) {
    throw ConfigError(str(where, "`cache_dir` can't be written to: ", error.what()));
  }
}

fs::path ResponseCache::file_of(const std::string& request) const {
  const uint64_t hash = fnv1a(request);
  const std::string name = str(std::hex, std::setfill('0'), std::setw(16), random_bits(hash, {0}),
                               std::setw(16), random_bits(hash, {request.size(), 1}));
  return folder_ / name.substr(0, 2) / (name + ".json");
}

std::optional<std::string> ResponseCache::find(const Json& request) const {
  const std::string text = to_json_text(request);
  const fs::path file = file_of(text);
  try {
    std::error_code error;
    if (!fs::exists(file, error)) return std::nullopt;
    return read_entry(read_whole_file(file), text);
  } catch (const FormatError&) {
    return std::nullopt;  // unreadable, or gone since: asked again
  }
}

void ResponseCache::store(const Json& request, const std::string& answer) {
  try {
    write(file_of(to_json_text(request)), to_json_text({{"request", request}, {"answer", answer}}) + "\n");
  } catch (const std::exception& error) {
    if (!has_warned_.exchange(true)) log_warn("answers are not cached: ", error.what());
  }
}

void ResponseCache::write(const fs::path& file, const std::string& content) {
  fs::create_directories(file.parent_path());
  // Two threads or processes may write one entry.
  const fs::path own = str(file.string(), ".", ::getpid(), "-", ++num_written_);
  write_file_atomically(own, content);
  fs::rename(own, file);
}

}  // namespace cohort
