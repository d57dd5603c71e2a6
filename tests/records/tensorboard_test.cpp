#include "cohort/records/tensorboard.h"

#include <gtest/gtest.h>

#include "tests/core/test_files.h"

namespace cohort {
namespace {

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

// RFC 3720, appendix B.4, and the check value of the CRC catalogue.
TEST(Crc32c, AgreesWithPublishedVectors) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62A8AB43u);
  EXPECT_EQ(crc32c(""), 0u);
}

// The bytes that the record writer and protobuf classes of TensorBoard 2.21 give for the same two events.
TEST(TensorBoardWriter, WritesTheBytesOfTensorBoardsOwnWriter) {
  TemporaryDirectory directory;
  const std::filesystem::path path = directory.path() / "events.out.tfevents.test";
  const std::string version_record = from_hex(
      "1800000000000000a37f4b22"
      "09000000000000f83f1a0d627261696e2e4576656e743a32"
      "2a28646c");
  const std::string scalar_record = from_hex(
      "3200000000000000241956ec"
      "09000000000000004010ac022a240a0d0a06726577617264150000003f0a130a0c74696d696e675f732f67656e15000050c0"
      "dd187d95");
  {
    TensorBoardWriter writer(path);
    writer.write(300, 1.5, {});
    writer.truncate_to(static_cast<int64_t>(version_record.size()));
    writer.write(300, 2.0, {{"reward", 0.5}, {"timing_s/gen", -3.25}});
  }
  EXPECT_EQ(read_text(path), version_record + scalar_record);
  TensorBoardWriter(path).write(300, 2.0, {{"reward", 0.5}, {"timing_s/gen", -3.25}});
  EXPECT_EQ(read_text(path), version_record + scalar_record + scalar_record);
}

}  // namespace
}  // namespace cohort
