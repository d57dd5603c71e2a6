// Which matrices a pass multiplies, and by how many rows.
#include "cohort/models/decoder.h"

#include <gtest/gtest.h>

#include "cohort/models/decoder_layer.h"
#include "tests/models/tiny_decoder.h"

namespace cohort {
namespace {

TEST(LayerProducts, AreTheMatricesOfAllLayers) {
  for (const char* architecture : kArchitectures) {
    const auto decoder = tiny_decoder(tiny_config(architecture), at::kFloat);
    int64_t expected = 0, elements = 0;
    for (const auto& [name, weight] : decoder->named_weights()) {
      if (name.starts_with("model.layers.") && weight.dim() == 2) expected += weight.numel();
    }
    for (const LayerProduct& product : decoder->layer_products())
      elements += product.linear->weight().numel();
    EXPECT_EQ(elements, expected) << architecture;
  }
}

TEST(LayerProducts, EveryRowGoesToAsManyExpertsAsItChooses) {
  const auto decoder = tiny_decoder(tiny_config("Qwen3MoeForCausalLM"), at::kFloat);
  for (const int64_t rows : {1, 2, 7, 64}) {
    int64_t products = 0, idle = 0;
    for (const LayerProduct& product : decoder->layer_products()) {
      products += product.rows(rows) * product.linear->weight().numel();
      idle += product.rows(rows) == 0;
    }
    // 4 query and 2 + 2 key and value heads of 16, the output, a router of 5, two experts of 2 x 40 and 40.
    EXPECT_EQ(products, 2 * rows * 48 * (8 * 16 + 4 * 16 + 5 + 2 * 3 * 40)) << rows;
    EXPECT_EQ(idle, rows == 1 ? 2 * 2 * 3 : rows == 2 ? 2 * 2 : 0) << "one row has two of five experts";
  }
}

}  // namespace
}  // namespace cohort
