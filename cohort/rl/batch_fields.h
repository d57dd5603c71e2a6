// The members of a batch's types as bytes, in the order in which batch_file.h writes them.
#pragma once

#include <string>

#include "cohort/rl/batch.h"

namespace cohort {

/// The fields of a batch besides its groups: step, reward names, weights, gives_steps.
std::string header_fields(const Batch& batch);

/// Sets these fields. Throws FormatError if the bytes end too early.
void read_header_fields(const std::string& bytes, Batch& batch);

/// All members of a group.
std::string fields_of(const Group& group);
std::string fields_of(const UntrainedGroup& untrained);

/// The values of such bytes. Throws FormatError for bytes that end too early, that go on after the end, or
/// that hold a value out of its range, and Json::exception for damaged fields of a prompt.
Group group_from(const std::string& bytes);
UntrainedGroup untrained_group_from(const std::string& bytes);

/// Bytes as text, two hexadecimal digits each, and back; throws FormatError for other text.
std::string to_hex(const std::string& bytes);
std::string from_hex(const std::string& text);

}  // namespace cohort
