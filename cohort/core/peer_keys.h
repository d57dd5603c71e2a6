// Other trainers' names of settings: TRL, verl, OpenRLHF and their relatives. Private to core.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cohort/core/config.h"

namespace cohort {

/// A name that other tools use for a setting.
struct PeerKey {
  const char* name;         ///< the last part of their key; `*` at its end matches any rest
  const char* keys;         ///< Cohort's keys, separated by spaces; the command decides which one exists
  const char* advice = "";  ///< what to do if there is no such key
};

/// The entry for a key of another tool, by its last part.
std::optional<PeerKey> find_peer_key(const std::string& key);

/// The entry's keys that are in `keys`.
std::vector<std::string> present_peer_keys(const PeerKey& peer, const std::vector<std::string>& keys);

/// Cohort's section for a section of another tool; empty if none is known.
std::string peer_section(const std::string& name);

}  // namespace cohort
