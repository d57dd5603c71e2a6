#include "cohort/records/tensorboard.h"

#include <array>
#include <bit>
#include <cstring>

namespace cohort {
namespace {

static_assert(std::endian::native == std::endian::little, "Records are written in memory order.");

constexpr std::array<uint32_t, 256> make_crc_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ 0x82F63B78u : crc >> 1;
    table[byte] = crc;
  }
  return table;
}

template <typename Number>
std::string bytes_of(Number number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

std::string varint(uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7) bytes += static_cast<char>(number | 0x80);
  return bytes + static_cast<char>(number);
}

// A protobuf field is (number << 3 | wire type), then the value; wire types: 0 varint, 1 64 bit, 2 bytes, 5
// 32 bit.
std::string field_key(int number, int wire_type) {
  return varint(static_cast<uint64_t>(number << 3 | wire_type));
}
std::string double_field(int number, double value) { return field_key(number, 1) + bytes_of(value); }
std::string float_field(int number, float value) { return field_key(number, 5) + bytes_of(value); }
std::string integer_field(int number, int64_t value) {
  return field_key(number, 0) + varint(static_cast<uint64_t>(value));
}
std::string bytes_field(int number, const std::string& value) {
  return field_key(number, 2) + varint(value.size()) + value;
}

std::string record(const std::string& data) {
  const std::string length = bytes_of(uint64_t{data.size()});
  return length + bytes_of(masked_crc32c(length)) + data + bytes_of(masked_crc32c(data));
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = make_crc_table();
  uint32_t crc = 0xFFFFFFFFu;
  for (const char c : bytes) crc = kTable[(crc ^ static_cast<unsigned char>(c)) & 0xFF] ^ crc >> 8;
  return ~crc;
}

uint32_t masked_crc32c(std::string_view bytes) { return std::rotr(crc32c(bytes), 15) + 0xA282EAD8u; }

// Event: 1 wall_time, 2 step, 3 file_version, 5 summary. Summary: 1 value. Summary.Value: 1 tag, 2
// simple_value.
void TensorBoardWriter::write(int64_t step, double wall_time_s, const Metrics& scalars) {
  if (size() == 0) append(record(double_field(1, wall_time_s) + bytes_field(3, "brain.Event:2")));
  std::string summary;
  for (const auto& [tag, value] : scalars) {
    summary += bytes_field(1, bytes_field(1, tag) + float_field(2, static_cast<float>(value)));
  }
  append(record(double_field(1, wall_time_s) + integer_field(2, step) + bytes_field(5, summary)));
}

}  // namespace cohort
