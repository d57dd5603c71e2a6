// Files of model and adapter directories beside the weights.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <functional>
#include <string>

namespace cohort {

bool is_floating(at::ScalarType dtype);

/// Calls fill(directory) on a new directory that then takes the place of `path`: complete or not at all.
void write_directory(const std::filesystem::path& path,
                     const std::function<void(const std::filesystem::path&)>& fill);

/// Copies the files of a model directory that hold no weights, without the one named `but`. Of a checkpoint
/// the run's state stays behind, too.
void copy_other_files(const std::filesystem::path& model_dir, const std::filesystem::path& target_dir,
                      const std::string& but);

/// The same without config.json and generation_config.json: tokenizer and chat template.
void copy_text_files(const std::filesystem::path& model_dir, const std::filesystem::path& target_dir);

/// Puts a chat template into a directory as its own; none where `file` is empty.
void copy_chat_template(const std::filesystem::path& file, const std::filesystem::path& target_dir);

}  // namespace cohort
