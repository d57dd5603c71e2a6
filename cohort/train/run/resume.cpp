#include "cohort/train/run/resume.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>

#include "cohort/core/error.h"
#include "cohort/core/local_model.h"
#include "libs/common/hash.h"
#include "libs/common/nearest.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

std::string hex(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

/// The whole of a small file. Of a large one 64 blocks at even distances, the first and the last among them:
/// another training of the same model differs in all of them.
std::string fingerprint(const fs::path& path) {
  constexpr std::streamoff kBlock = 1 << 14, kBlocks = 64;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw FormatError(str(path.string(), ": can't be read"));
  const auto size = static_cast<std::streamoff>(fs::file_size(path));
  const bool is_whole = !path.string().ends_with(".safetensors") || size <= kBlock * kBlocks;
  std::string bytes = str(size, ":");
  const std::streamoff block = is_whole ? size : kBlock, count = is_whole ? 1 : kBlocks;
  for (std::streamoff i = 0; i < count; ++i) {
    std::string part(static_cast<size_t>(block), '\0');
    file.seekg(count == 1 ? 0 : (size - block) / (count - 1) * i);
    file.read(part.data(), block);
    bytes += part;
  }
  return hex(fnv1a(bytes));
}

/// Files that decide what a model computes and how its text becomes ids.
bool decides_results(const fs::path& path) {
  const std::string name = path.filename().string(), extension = path.extension().string();
  if (name == "state.json" || name.find("optimizer") != std::string::npos) return false;  // of a checkpoint
  return extension == ".json" || extension == ".jinja" || extension == ".safetensors";
}

Json directory_fingerprints(const fs::path& directory) {
  std::map<std::string, std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    if (entry.is_regular_file() && decides_results(entry.path()))
      files[entry.path().filename().string()] = fingerprint(entry.path());
  }
  return files;
}

void append_fingerprints(const Section& section, const std::string& prefix, Json& files) {
  for (const Field& field : section.fields) {
    if (field.on_resume != OnResume::kSameFiles) continue;
    const std::string& name = *std::get<std::string*>(field.value);
    if (name.empty()) continue;
    const fs::path path = local_model(name);
    const std::string key = prefix + field.name;
    if (!fs::is_directory(path))
      throw ConfigError(str(key, ": ", name, ": no such directory; give the place where its files are now",
                            download_advice(name)));
    files[key] = directory_fingerprints(path);
  }
  for (const Section& child : section.sections) append_fingerprints(child, prefix + child.name + ".", files);
  for (const SectionList& list : section.lists) {
    const std::vector<Section> items = list.items();
    for (size_t i = 0; i < items.size(); ++i)
      append_fingerprints(items[i], str(prefix, list.name, ".", i, "."), files);
  }
}

/// The first file of the two lists that differs, for the message.
std::string differing_file(const Json& before, const Json& now) {
  for (const auto& [name, value] : before.items()) {
    if (!now.contains(name) || now.at(name) != value) return name;
  }
  for (const auto& [name, value] : now.items()) {
    if (!before.contains(name)) return name;
  }
  return "";
}

bool is_same_place(const std::string& before, const std::string& now) {
  const auto canonical = [](const std::string& text) {  // of a TOML string, quotes included
    if (text.size() < 2) return fs::path(text);
    return fs::weakly_canonical(text.substr(1, text.size() - 2));
  };
  return canonical(before) == canonical(now);
}

/// Whether two settings of a function in Python, TOML strings "FILE.py:NAME", name one function of one file,
/// which may have moved: a run does not compare what such a file holds.
bool is_same_function(const std::string& key, const std::string& before, const std::string& now) {
  const auto split = [](const std::string& text) {
    const size_t colon = text.rfind(".py:");
    if (colon == std::string::npos) return std::pair(fs::path(), std::string());
    return std::pair(fs::path(text.substr(1, colon + 2)), text.substr(colon + 4));
  };
  const auto [old_file, old_name] = split(before);
  const auto [file, name] = split(now);
  const bool names_function = key.ends_with(".function") || key.starts_with("objective.python");
  if (!names_function || file.empty() || old_name != name || old_file.filename() != file.filename())
    return false;
  if (!fs::is_regular_file(old_file)) return true;
  return fs::is_regular_file(file) && fingerprint(old_file) == fingerprint(file);
}

void append_names(const Section& section, const std::string& prefix, std::vector<std::string>& names) {
  for (const Field& field : section.fields) names.push_back(prefix + field.name);
  for (const Section& child : section.sections) {
    names.push_back(prefix + child.name);
    append_names(child, prefix + child.name + ".", names);
  }
  for (const SectionList& list : section.lists) {
    names.push_back(prefix + list.name);
    const std::vector<Section> items = list.items();
    for (size_t i = 0; i < items.size(); ++i) {
      names.push_back(str(prefix, list.name, ".", i));
      append_names(items[i], names.back() + ".", names);
    }
  }
}

}  // namespace

void check_accepted(const ResumeOptions& options, const Section& before, const Section& now) {
  std::vector<std::string> names;
  append_names(before, "", names);
  append_names(now, "", names);
  for (const std::string& accepted : options.accept_changed) {
    if (std::find(names.begin(), names.end(), accepted) != names.end()) continue;
    throw ConfigError(str("--accept-changed ", accepted,
                          ": is no key or section of this recipe; did you mean ",
                          nearest_name(accepted, names), "?"));
  }
}

bool ResumeOptions::accepts(const std::string& key) const {
  return std::any_of(accept_changed.begin(), accept_changed.end(), [&](const std::string& accepted) {
    return key == accepted || key.starts_with(accepted + ".");
  });
}

Json file_fingerprints(const Section& settings) {
  Json files = Json::object();
  append_fingerprints(settings, "", files);
  return files;
}

std::vector<SettingChange> resumed_changes(const Section& before, const Section& now, const Json& run_files) {
  std::vector<SettingChange> changes = changed_settings(before, now);
  const Json files = run_files.is_null() ? Json::object() : file_fingerprints(now);
  for (SettingChange& change : changes) {
    if (is_same_function(change.key, change.before, change.now)) change.on_resume = OnResume::kTaken;
    if (change.on_resume != OnResume::kSameFiles) continue;
    // Files are compared below; without their fingerprints the path itself must stay.
    const bool is_compared = files.contains(change.key) && run_files.contains(change.key);
    const bool is_same = is_compared || is_same_place(change.before, change.now);
    change.on_resume = is_same ? OnResume::kTaken : OnResume::kRefused;
  }
  for (const auto& [key, fingerprints] : files.items()) {
    if (!run_files.contains(key)) continue;
    const std::string name = differing_file(run_files.at(key), fingerprints);
    if (!name.empty()) changes.push_back({key, str("its ", name), "another " + name});
  }
  return changes;
}

void check_changes(const std::vector<SettingChange>& changes, const ResumeOptions& options,
                   const fs::path& config_file) {
  std::string list, flags;
  for (const SettingChange& change : changes) {
    if (change.on_resume == OnResume::kTaken || options.accepts(change.key)) continue;
    list +=
        str(list.empty() ? "" : ", ", change.key, " (", change.before, " in the run, ", change.now, " now)");
    flags += " --accept-changed " + change.key;
    if (change.key == "seed" && !options.accepts("data"))
      flags += " --accept-changed data";  // the rows' order
  }
  if (list.empty()) return;
  throw ConfigError(
      str(config_file.string(), ": settings that change results differ: ", list,
          ". Resume with the run's own, choose another run.dir, or take the new ones from here on:", flags));
}

std::string describe_changes(const std::vector<SettingChange>& changes,
                             const std::string& lr_scheduler_type) {
  std::string list;
  bool is_other_length = false;
  for (const SettingChange& change : changes) {
    list += str(list.empty() ? "" : ", ", change.key, " = ", change.now, " (", change.before, " before)");
    is_other_length |= change.key == "train.max_steps" || change.key == "train.num_train_epochs";
  }
  const bool ends_with_run =
      !lr_scheduler_type.starts_with("constant") && lr_scheduler_type != "inverse_sqrt";
  if (is_other_length && ends_with_run) {
    list += str("; optimizer.lr_scheduler_type = \"", lr_scheduler_type,
                "\" ends with the run: the learning rate is now that of a run of the new length");
  }
  return list;
}

}  // namespace cohort
