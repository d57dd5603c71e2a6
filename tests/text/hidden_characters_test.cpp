#include "cohort/text/hidden_characters.h"

#include <gtest/gtest.h>

namespace cohort {
namespace {

TEST(HiddenCharacters, AreFoundInTextsAndKeys) {
  EXPECT_EQ(find_hidden_character({{"prompt", "a\tb\r\nc é 東京 \u200d👍🏽"}}), std::nullopt);
  EXPECT_EQ(find_hidden_character({{"prompt", "a\u200bb"}}), char32_t{0x200B});
  EXPECT_EQ(find_hidden_character({{"n", 1}, {"deep", {"x", {{"y", "\u202etxt"}}}}}), char32_t{0x202E});
  EXPECT_EQ(find_hidden_character({{"a\ufeff", 1}}), char32_t{0xFEFF});
  EXPECT_EQ(find_hidden_character(Json("\x1b[31m")), char32_t{0x1B});
  EXPECT_EQ(find_hidden_character(Json("\x7f")), char32_t{0x7F});
  EXPECT_EQ(find_hidden_character(Json("\U000E0041")), char32_t{0xE0041});
  EXPECT_EQ(find_hidden_character(Json(3)), std::nullopt);
}

}  // namespace
}  // namespace cohort
