// Model directories: one file or shards, and everything that an index may get wrong.
#include "cohort/tensor/weight_files.h"

#include <gtest/gtest.h>

#include <fstream>

#include "cohort/core/error.h"
#include "cohort/core/json.h"
#include "tests/core/test_files.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

class WeightFilesTest : public testing::Test {
 protected:
  void write_index(const std::string& text) {
    std::ofstream(folder_ / "model.safetensors.index.json", std::ios::trunc) << text;
  }

  std::string error_of_open() {
    try {
      WeightReader::open(folder_);
    } catch (const FormatError& error) {
      return error.what();
    }
    return "";
  }

  void expect_error(const std::string& part) {
    const std::string message = error_of_open();
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }

  TemporaryDirectory directory_;
  const fs::path folder_ = directory_.path();
};

NamedTensors three_tensors() {
  return {{"c", at::arange(4).to(at::kFloat)},
          {"a", at::arange(8).to(at::kFloat)},
          {"b", at::ones({2}, at::kHalf)}};
}

TEST_F(WeightFilesTest, SmallModelsAreOneFile) {
  write_weights(folder_, three_tensors());
  EXPECT_TRUE(fs::exists(folder_ / "model.safetensors"));
  WeightReader reader = WeightReader::open(folder_);
  EXPECT_EQ(reader.names(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_TRUE(reader.contains("c"));
  EXPECT_FALSE(reader.contains("d"));
  EXPECT_EQ(reader.info("a").shape, std::vector<int64_t>{8});
  for (const auto& [name, tensor] : three_tensors())
    EXPECT_TRUE(at::equal(reader.tensor(name), tensor)) << name;
}

TEST_F(WeightFilesTest, LargeModelsAreShardsOfAtMostTheLimit) {
  // 16, 32 and 4 bytes: c alone, a alone (above the limit), b alone would fit beside neither.
  write_weights(folder_, three_tensors(), 20);
  Json index = read_json(folder_ / "model.safetensors.index.json");
  EXPECT_EQ(index["metadata"]["total_size"], 52);
  EXPECT_EQ(index["metadata"]["total_parameters"], 14);
  EXPECT_EQ(index["weight_map"]["c"], "model-00001-of-00003.safetensors");
  EXPECT_EQ(index["weight_map"]["a"], "model-00002-of-00003.safetensors");
  EXPECT_EQ(index["weight_map"]["b"], "model-00003-of-00003.safetensors");
  WeightReader reader = WeightReader::open(folder_);
  for (const auto& [name, tensor] : three_tensors())
    EXPECT_TRUE(at::equal(reader.tensor(name), tensor)) << name;
}

TEST_F(WeightFilesTest, ShardsAreFilledUpToTheLimitExactly) {
  write_weights(folder_, three_tensors(), 48);
  Json index = read_json(folder_ / "model.safetensors.index.json");
  EXPECT_EQ(index["weight_map"]["a"], "model-00001-of-00002.safetensors");
  EXPECT_EQ(index["weight_map"]["b"], "model-00002-of-00002.safetensors");
}

TEST_F(WeightFilesTest, OldWeightsAreNeverMixedWithNewOnes) {
  write_weights(folder_, three_tensors());
  EXPECT_THROW(write_weights(folder_, three_tensors(), 20), FormatError);
}

TEST_F(WeightFilesTest, ADirectoryWithoutWeightsIsAnError) {
  expect_error("holds neither model.safetensors nor model.safetensors.index.json");
}

TEST_F(WeightFilesTest, BrokenIndexesAreErrors) {
  write_index("{");
  expect_error("index.json: is not valid JSON");
  write_index("[]");
  expect_error("does not begin with '{'");
  write_index("{}");
  expect_error("has no object 'weight_map'");
  write_index(R"({"weight_map":{"a":"x.safetensors","a":"y.safetensors"}})");
  expect_error(R"(the key "a" comes twice)");
  write_index(R"({"weight_map":{"a":3}})");
  expect_error("not the plain name");
}

TEST_F(WeightFilesTest, ShardNamesNeverLeaveTheDirectory) {
  for (const char* shard :
       {"../model.safetensors", "/etc/model.safetensors", "a/../model.safetensors", "..", "", ".safetensors",
        "sub\\\\model.safetensors", "weights.bin", "x.safetensors\\u0000.safetensors"}) {
    write_index(str(R"({"weight_map":{"a":")", shard, R"("}})"));
    expect_error("not the plain name");
  }
}

TEST_F(WeightFilesTest, MissingShardsAreNamed) {
  write_index(R"({"weight_map":{"a":"model-00001-of-00001.safetensors"}})");
  expect_error("model-00001-of-00001.safetensors: cannot be opened");
}

TEST_F(WeightFilesTest, IndexAndShardsMustListTheSameTensors) {
  write_safetensors(folder_ / "one.safetensors", {{"a", at::ones({1})}});
  write_safetensors(folder_ / "two.safetensors", {{"b", at::ones({1})}});
  write_index(R"({"weight_map":{"a":"one.safetensors","b":"two.safetensors"}})");
  EXPECT_EQ(error_of_open(), "");
  write_index(R"({"weight_map":{"a":"one.safetensors","b":"two.safetensors","c":"two.safetensors"}})");
  expect_error(R"(two.safetensors: has no tensor "c")");
  write_index(R"({"weight_map":{"a":"two.safetensors","b":"one.safetensors"}})");
  expect_error(R"(two.safetensors: has no tensor "a")");
  write_safetensors(folder_ / "two.safetensors", {{"b", at::ones({1})}, {"d", at::ones({1})}});
  write_index(R"({"weight_map":{"a":"one.safetensors","b":"two.safetensors"}})");
  expect_error(R"(tensor "d" is not listed)");
  write_safetensors(folder_ / "two.safetensors", {{"a", at::ones({1})}, {"b", at::ones({1})}});
  expect_error(R"(tensor "a" is also in)");
}

}  // namespace
}  // namespace cohort
