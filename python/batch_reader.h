// From the values of python/cohort/batch.py to those of the engine.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cohort/models/decoder_config.h"
#include "cohort/rl/batch.h"
#include "cohort/tasks/row_text.h"

namespace cohort::python {

/// Groups from Python, and the temperature that all of them were sampled at.
struct GivenBatch {
  std::vector<Group> groups;
  double temperature = 1.0;
};

/// Prompts and token ids alone, every token of a completion as a sampled one: what a forward pass reads.
/// Throws UserError for values that cannot be used and pybind11's type_error for those of another type, with
/// their place.
GivenBatch read_token_ids(const pybind11::handle& batch, const DecoderConfig& model);

/// All columns. Tokens whose mask is 0 become injected ones, and columns keep the values of the others.
GivenBatch read_batch(const pybind11::handle& batch, const DecoderConfig& model);

/// A text, a list of messages or a list of token ids. `format` is null if the model has no tokenizer. `where`
/// names the prompt in messages.
Prompt read_prompt(const pybind11::handle& given, const TextFormat* format, const std::string& where);

/// JSON text of a Python value made of dicts, lists, strings and numbers.
Json read_json_value(const pybind11::handle& value, const std::string& where);

/// Token ids from a sequence or a tensor.
std::vector<int32_t> read_ids(const pybind11::handle& given, const std::string& where);

}  // namespace cohort::python
