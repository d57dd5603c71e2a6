// Reading the components of tokenizer.json: typed access to fields, with errors that name the component and
// the key.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// Not cohort::Json: keeping the order of a vocabulary's 150,000 keys makes every insertion a linear search.
using TokenizerJson = nlohmann::json;

/// A name from a file, in quotes, as one line of at most some 80 bytes.
std::string quoted_name(const std::string& name);

/// Parses a whole file's text. Throws FormatError naming the byte where it is malformed or nested too deeply.
TokenizerJson parse_tokenizer_json(std::string_view text);

/// Field `key` of `component`, or null where it is absent. Throws FormatError when `component` is no object.
const TokenizerJson& field(const TokenizerJson& component, const std::string& key, const std::string& where);

/// Throw FormatError naming `where` and `key` when the field is absent or of another type.
std::string string_field(const TokenizerJson& component, const std::string& key, const std::string& where);
bool bool_field(const TokenizerJson& component, const std::string& key, const std::string& where);
int32_t id_field(const TokenizerJson& component, const std::string& key, const std::string& where);
std::string character_field(const TokenizerJson& component, const std::string& key, const std::string& where);
int64_t count_field(const TokenizerJson& component, const std::string& key, const std::string& where);

/// As bool_field, but `fallback` for an absent or null field.
bool bool_field_or(const TokenizerJson& component, const std::string& key, const std::string& where,
                   bool fallback);

/// The steps of a component: none of null, the members (under `list_key`) of a Sequence however nested, else
/// itself.
std::vector<TokenizerJson> flatten_sequence(const TokenizerJson& component, const std::string& list_key,
                                            const std::string& where);

/// Throws the FormatError for a component of a type that this reader does not have; `known` lists those it
/// has.
[[noreturn]] void throw_unsupported(const std::string& where, const std::string& type,
                                    const std::string& known);

}  // namespace cohort
