// Adapters of a frozen model, in the format of PEFT: adapter_config.json and adapter_model.safetensors.
#pragma once

#include <filesystem>
#include <memory>

#include "cohort/models/decoder.h"
#include "cohort/models/lora_config.h"

namespace cohort {

/// Reads `adapter_dir`/adapter_config.json. Throws FormatError naming the key that is malformed or asks for
/// something unsupported.
LoraConfig read_lora_config(const std::filesystem::path& adapter_dir);

/// Reads the weights of an adapter into a decoder that was read from `model_dir` and adapted by the adapter's
/// own settings. Throws FormatError naming file and tensor.
void load_adapter_weights(const std::filesystem::path& model_dir, const std::filesystem::path& adapter_dir,
                          Decoder& decoder);

/// A frozen model with an adapter on it, or alone where `adapter_dir` is empty. Every tensor of the adapter's
/// file must have a place and every adapter its tensors. Throws FormatError naming file, tensor or key.
std::unique_ptr<Decoder> load_adapted(const std::filesystem::path& model_dir,
                                      const std::filesystem::path& adapter_dir, at::ScalarType compute,
                                      at::Device device);

/// Writes the adapters of `decoder` as a new directory, complete or not at all, with the tokenizer's files of
/// `base_dir` beside them, and `chat_template` as in save_pretrained.
void save_adapter(const Decoder& decoder, const std::filesystem::path& base_dir,
                  const std::filesystem::path& adapter_dir, const std::filesystem::path& chat_template = {});

/// The files of save_trained but the weights, written into `directory`, and the name of the weights' file.
void write_trained_files(const Decoder& decoder, const std::filesystem::path& source_dir,
                         const std::filesystem::path& chat_template, const std::filesystem::path& directory);
const char* trained_weight_file(const Decoder& decoder);

/// What a run leaves: save_adapter where the decoder has adapters, else save_pretrained.
void save_trained(const Decoder& decoder, const std::filesystem::path& source_dir,
                  const std::filesystem::path& output_dir, const std::filesystem::path& chat_template = {});

/// A plain copy of a model directory whose weights have the adapters merged in: W + scale B A, computed in
/// float32 and rounded to the dtype of W; with DoRA its rows scaled to their magnitudes.
void merge_adapter(const std::filesystem::path& model_dir, const std::filesystem::path& adapter_dir,
                   const std::filesystem::path& output_dir);

}  // namespace cohort
