// Hugging Face model directories: read strictly, written so that the ecosystem loads them.
#pragma once

#include <ATen/ATen.h>

#include <filesystem>
#include <memory>

#include "cohort/models/decoder.h"

namespace cohort {

/// Reads config and weights of a model with such a head. Every tensor of the files must be a parameter and
/// every parameter must be there with its shape. Throws FormatError naming file, tensor or key.
std::unique_ptr<Decoder> load_pretrained(const std::filesystem::path& model_dir, at::ScalarType compute,
                                         at::Device device, HeadKind head = HeadKind::kCausalLm,
                                         bool is_frozen = false);

/// The same for a classification head, which a language model is given in the place of its own: random by
/// `seed`, with `num_labels` scores.
std::unique_ptr<Decoder> load_with_head(const std::filesystem::path& model_dir, at::ScalarType compute,
                                        at::Device device, HeadKind head, int64_t num_labels, uint64_t seed);

/// A plain copy of a model directory: every tensor in its own dtype, all other files byte for byte. A
/// checkpoint's float32 masters become the dtype that its config.json names. Throws FormatError as
/// load_pretrained does, before anything is written.
void copy_pretrained(const std::filesystem::path& source_dir, const std::filesystem::path& model_dir);

/// Copies weights from `model_dir` into `decoder`, which has the same config.
void load_weights(const std::filesystem::path& model_dir, Decoder& decoder);

/// Whether a tensor of a model's files holds nothing of its own: some writers add the rotary frequencies or a
/// tied head.
bool is_redundant_tensor(const std::string& name, const DecoderConfig& config);

/// Writes config.json and the other files of `source_dir` into `directory`: all of the model but its weights.
/// `chat_template` is as in save_pretrained.
void write_model_files(const Decoder& decoder, const std::filesystem::path& source_dir,
                       const std::filesystem::path& chat_template, const std::filesystem::path& directory);

/// Writes config, weights (in the compute dtype, which loads to the same computation) and the other files of
/// `source_dir` (tokenizer, generation config, chat template) into the new directory `model_dir`, complete or
/// not at all. `chat_template`, where it is given, is a file that takes the place of the source's template.
void save_pretrained(const Decoder& decoder, const std::filesystem::path& source_dir,
                     const std::filesystem::path& model_dir, const std::filesystem::path& chat_template = {});

}  // namespace cohort
