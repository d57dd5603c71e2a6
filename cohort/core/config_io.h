// Functions of declared settings (config.h): reading TOML files and flags, the resolved dump, --help and
// the documentation page. Later sources win: defaults, then TOML files in order, then flags.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cohort/core/config.h"

namespace cohort {

/// Sets the file's settings. A `[[list]]` replaces the whole list of earlier sources. Throws ConfigError
/// naming file, line and key for malformed TOML, an unknown key (with the nearest one), a wrong type or a
/// value out of range.
void apply_toml_file(const Section& settings, const std::filesystem::path& path);

/// The same for TOML text; errors name `source` as the file.
void apply_toml_text(const Section& settings, const std::string& text, const std::string& source);

/// Sets the flags' settings and returns the arguments that are not flags, in order. A flag is the dotted key
/// (`--optimizer.learning_rate 1e-5`), the key with underscores (`--run-dir`) or, when unique, its leaf
/// (`--learning_rate`); `-` and `_` are the same, `--key=value` works too. A bool without `true` or `false`
/// is true, a list takes the flag once per element, a table of strings once per pair
/// (`--columns prompt=question`), `--reward.0.weight` is the first `[[reward]]` (one past the last appends).
/// Throws ConfigError naming the flag.
std::vector<std::string> apply_flags(const Section& settings, const std::vector<std::string>& arguments);

/// All settings as TOML; reading it back gives the same values bit for bit.
std::string to_toml(const Section& settings);

/// A setting, or a whole item of a list, that differs between two trees of one struct.
struct SettingChange {
  std::string key;     ///< such as "train.max_steps" or "reward.1"
  std::string before;  ///< in TOML's notation; "unset" for an optional without a value, "absent" for an item
  std::string now;
  OnResume on_resume = OnResume::kRefused;
};

/// All differences, in the order of declaration.
std::vector<SettingChange> changed_settings(const Section& before, const Section& now);

/// One Markdown table per section: key, type, default, range, meaning. Describe a default-made struct for it.
std::string to_markdown(const Section& settings);

/// The same for `--help`.
std::string to_help(const Section& settings);

}  // namespace cohort
