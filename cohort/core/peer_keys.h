// What other trainers call a setting: TRL, verl, OpenRLHF and their relatives. Private to core.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cohort/core/config.h"

namespace cohort {

/// A name that other tools use for a setting.
struct PeerKey {
  const char* name;         ///< the last part of their key; `*` at its end stands for any rest
  const char* keys;         ///< the keys here, separated by spaces; which one exists depends on the command
  const char* advice = "";  ///< what to do where there is no such key
};

/// The entry for a key of another tool, by its last part.
std::optional<PeerKey> find_peer_key(const std::string& key);

/// Those of the entry's keys that `keys` holds.
std::vector<std::string> present_peer_keys(const PeerKey& peer, const std::vector<std::string>& keys);

/// The section here for a section of another tool; empty where none is known.
std::string peer_section(const std::string& name);

}  // namespace cohort
