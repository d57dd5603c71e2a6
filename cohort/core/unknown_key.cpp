// What a message says about a key or a section that does not exist.
#include <algorithm>
#include <map>

#include "cohort/core/config_values.h"
#include "cohort/core/error.h"
#include "cohort/core/peer_keys.h"
#include "libs/common/nearest.h"

namespace cohort {
namespace {

void append_documented_keys(const Section& section, const std::string& prefix,
                            std::vector<std::string>& out) {
  for (const Field& field : section.fields) out.push_back(prefix + field.name);
  for (const Section& child : section.sections) append_documented_keys(child, prefix + child.name + ".", out);
  for (const SectionList& list : section.lists) {
    append_documented_keys(list.prototype(), prefix + list.name + ".0.", out);
  }
}

std::string leaf_of(const std::string& key) { return key.substr(key.rfind('.') + 1); }

/// A suggestion helps only where at most a third of the last part is written otherwise, and never a letter
/// alone.
bool is_near(const std::string& name, const std::string& candidate) {
  if (leaf_of(name).size() < 2) return name == candidate;
  return edit_distance(name, candidate) <= std::max<size_t>(1, leaf_of(name).size() / 3);
}

/// Of the keys with the same leaf, where there are any; else of all keys, which may be meant by their leaf
/// alone. Empty where none is near.
std::string nearest_key(const std::string& key, const std::vector<std::string>& keys) {
  std::map<std::string, std::string> key_of_name;
  std::vector<std::string> with_same_leaf, names;
  for (const std::string& candidate : keys) {
    if (leaf_of(candidate) == leaf_of(key)) with_same_leaf.push_back(candidate);
    for (const std::string& name : {candidate, leaf_of(candidate), with_underscores(candidate, '.')}) {
      key_of_name.emplace(name, candidate);
      names.push_back(name);
    }
  }
  if (!with_same_leaf.empty()) return nearest_name(key, with_same_leaf);
  for (const std::string& name : {key, leaf_of(key)}) {
    const std::string nearest = nearest_name(name, names);
    if (is_near(name, nearest)) return key_of_name.at(nearest);
  }
  return "";
}

/// The names of the sections and lists in `parent`, as TOML writes their headers.
std::vector<std::pair<std::string, std::string>> section_headers(const Section& parent,
                                                                 const std::string& prefix) {
  std::vector<std::pair<std::string, std::string>> headers;
  headers.reserve(parent.sections.size() + parent.lists.size());
  for (const Section& child : parent.sections)
    headers.emplace_back(child.name, "[" + prefix + child.name + "]");
  for (const SectionList& list : parent.lists)
    headers.emplace_back(list.name, "[[" + prefix + list.name + "]]");
  return headers;
}

/// What follows "unknown key KEY".
std::string advice_for(const Section& settings, const std::string& key) {
  const std::vector<std::string> keys = documented_keys(settings);
  if (keys.empty()) return "; there are none here";
  if (const std::optional<PeerKey> peer = find_peer_key(key)) {
    const std::vector<std::string> present = present_peer_keys(*peer, keys);
    if (!present.empty()) return str("; Cohort's name for it is ", present.front());
    if (*peer->advice != '\0') return str("; Cohort has none: ", peer->advice);
  }
  for (const auto& [name, header] : section_headers(settings, "")) {
    if (name == key) return str("; it is the section ", header, ": set one of its keys");
  }
  const std::string nearest = nearest_key(key, keys);
  if (nearest.empty()) return "; Cohort has none like it, and `--help` lists all keys";
  return str("; did you mean ", nearest, "?");
}

}  // namespace

std::vector<std::string> documented_keys(const Section& settings) {
  std::vector<std::string> keys;
  append_documented_keys(settings, "", keys);
  return keys;
}

void throw_unknown_key(const Section& settings, const std::string& key, const std::string& where) {
  throw ConfigError(str(where, "unknown key ", key, advice_for(settings, key)));
}

void throw_unknown_section(const Section& parent, const std::string& prefix, const std::string& name,
                           bool is_list, const std::string& where) {
  const std::string given = is_list ? "[[" + prefix + name + "]]" : "[" + prefix + name + "]";
  const auto headers = section_headers(parent, prefix);
  const std::string peer = prefix.empty() ? peer_section(name) : "";
  std::vector<std::string> names;
  std::string all;
  for (const auto& [each, header] : headers) {
    names.push_back(each);
    all += (all.empty() ? "" : ", ") + header;
  }
  const std::string nearest = nearest_name(name, names);
  for (const auto& [each, header] : headers) {
    if (each != peer && !(peer.empty() && each == nearest && is_near(name, nearest))) continue;
    throw ConfigError(str(where, "unknown section ", given, "; did you mean ", header, "?"));
  }
  throw ConfigError(str(where, "unknown section ", given,
                        all.empty() ? "; there are none here" : "; the sections are " + all));
}

}  // namespace cohort
