// The strict reader against a catalogue of broken files, the writer against the reference library's bytes.
#include "cohort/tensor/safetensors.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>

#include "cohort/core/error.h"
#include "tests/core/test_files.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

class SafetensorsTest : public testing::Test {
 protected:
  fs::path write(const std::string& bytes) {
    fs::path path = folder_ / "file.safetensors";
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    return path;
  }

  // The message of the FormatError that reading these bytes throws; empty when there is none.
  std::string error_of(const std::string& bytes) {
    try {
      SafetensorsFile file(write(bytes));
    } catch (const FormatError& error) {
      return error.what();
    }
    return "";
  }

  TemporaryDirectory directory_;
  const fs::path folder_ = directory_.path();
};

std::string with_length(uint64_t length, const std::string& rest) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + rest;
}

std::string file_of(const std::string& header, size_t num_data_bytes) {
  return with_length(header.size(), header + std::string(num_data_bytes, '\0'));
}

std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

// A file with the tensor "w" only.
std::string one(const std::string& dtype, const std::string& shape, const std::string& offsets,
                size_t num_data_bytes) {
  return file_of(R"({"w":)" + entry(dtype, shape, offsets) + "}", num_data_bytes);
}

std::string two(const std::string& first_offsets, const std::string& second_offsets, size_t num_data_bytes) {
  return file_of(R"({"a":)" + entry("F32", "[1]", first_offsets) + R"(,"b":)" +
                     entry("F32", "[1]", second_offsets) + "}",
                 num_data_bytes);
}

std::string bytes_of(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

struct BrokenFile {
  std::string name;
  std::string bytes;
  std::string message;  // a part of the error
};

std::vector<BrokenFile> broken_files() {
  const std::string good = entry("F32", "[1]", "[0,4]");
  return {
      {"empty file", "", "ends after 0 bytes"},
      {"seven bytes", std::string(7, '\0'), "ends after 7 bytes"},
      {"empty header", with_length(0, ""), "does not begin with '{'"},
      {"header above the cap", with_length(100'000'001, "{}"), "above 100000000"},
      {"header of 2^64 - 1", with_length(std::numeric_limits<uint64_t>::max(), "{}"), "above 100000000"},
      {"header beyond the file", with_length(3, "{}"), "inside the header"},
      {"leading space", file_of(R"( {"w":)" + good + "}", 4), "does not begin with '{'"},
      {"byte order mark", file_of("\xEF\xBB\xBF{}", 0), "does not begin with '{'"},
      {"a list", file_of("[]", 0), "does not begin with '{'"},
      {"not JSON", file_of(R"({"w":})", 0), "not valid JSON at byte 6"},
      {"JSON cut short", file_of(R"({"w":)", 0), "not valid JSON"},
      {"text after the object", file_of("{}x", 0), "not valid JSON"},
      {"invalid UTF-8", file_of("{\"\xFF\":" + good + "}", 4), "not valid JSON"},
      {"deep nesting", file_of(R"({"w":)" + std::string(100'000, '['), 0), "nested deeper"},
      {"name twice", file_of(R"({"w":)" + good + R"(,"w":)" + good + "}", 4), R"(key "w" comes twice)"},
      {"name twice, escaped", file_of(R"({"w":)" + good + R"(,"\u0077":)" + good + "}", 4), "comes twice"},
      {"field twice", file_of(R"({"w":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4),
       "twice"},
      {"entry is a number", file_of(R"({"w":3})", 0), R"(tensor "w": is not an object)"},
      {"no dtype", file_of(R"({"w":{"shape":[1],"data_offsets":[0,4]}})", 4), "has no 'dtype'"},
      {"unknown dtype", one("F31", "[1]", "[0,4]", 4), R"(dtype "F31" is not supported)"},
      {"sub-byte dtype", one("F4", "[1]", "[0,1]", 1), R"(dtype "F4" is not supported)"},
      {"dtype in lower case", one("f32", "[1]", "[0,4]", 4), R"(dtype "f32" is not supported)"},
      {"dtype is a number", file_of(R"({"w":{"dtype":1,"shape":[1],"data_offsets":[0,4]}})", 4),
       "dtype 1 is not"},
      {"no shape", file_of(R"({"w":{"dtype":"F32","data_offsets":[0,4]}})", 4), "has no list 'shape'"},
      {"shape is a number", one("F32", "1", "[0,4]", 4), "has no list 'shape'"},
      {"negative size", one("F32", "[-1]", "[0,4]", 4), "size -1 is not a whole number"},
      {"fractional size", one("F32", "[1.0]", "[0,4]", 4), "size 1.0 is not a whole number"},
      {"size of 2^63", one("U8", "[9223372036854775808]", "[0,4]", 4), "overflows"},
      {"size of 2^64", one("U8", "[18446744073709551616]", "[0,4]", 4), "not a whole number"},
      {"product of 2^64", one("U8", "[4294967296,4294967296]", "[0,0]", 0), "overflows"},
      {"product of 2^64 bytes", one("F64", "[2305843009213693952]", "[0,0]", 0), "overflows"},
      {"overflow hidden by a zero", one("F32", "[0,4294967296,4294967296]", "[0,0]", 0), "overflows"},
      {"65 dimensions",
       one(
           "F32",
           "[1" +
               [] {
                 std::string s;
                 for (int i = 0; i < 64; ++i) s += ",1";
                 return s;
               }() +
               "]",
           "[0,4]", 4),
       "more than 64"},
      {"no offsets", file_of(R"({"w":{"dtype":"F32","shape":[1]}})", 4), "has no list 'data_offsets'"},
      {"one offset", one("F32", "[1]", "[4]", 4), "is not a pair"},
      {"three offsets", one("F32", "[1]", "[0,4,4]", 4), "is not a pair"},
      {"negative offset", one("F32", "[1]", "[-4,0]", 4), "offset -4 is not a whole number"},
      {"reversed offsets", one("F32", "[1]", "[4,0]", 4), "are reversed"},
      {"too few bytes for the shape", one("F32", "[2]", "[0,4]", 4),
       "span 4 bytes but shape [2] of \"F32\" takes 8"},
      {"too many bytes for the shape", one("F32", "[1]", "[0,8]", 8), "takes 4"},
      {"bytes for an empty tensor", one("F32", "[0]", "[0,4]", 4), "takes 0"},
      {"first offset is not 0", one("F32", "[1]", "[4,8]", 8), "leaves a hole from 0"},
      {"hole", two("[0,4]", "[8,12]", 12), R"(tensor "b": begins at offset 8, which leaves a hole from 4)"},
      {"overlap", two("[0,4]", "[2,6]", 6),
       R"(tensor "b": begins at offset 2, inside the tensor that ends at 4)"},
      {"the same bytes twice", two("[0,4]", "[0,4]", 4), "inside the tensor"},
      {"data cut short", one("F32", "[2]", "[0,8]", 7), "only 7 bytes of data"},
      {"trailing byte", one("F32", "[1]", "[0,4]", 5), "1 bytes follow the last tensor, at offset 4"},
      {"data without tensors", file_of("{}", 1), "1 bytes follow"},
      {"metadata is a list", file_of(R"({"__metadata__":[]})", 0), "__metadata__ is not an object"},
      {"metadata of numbers", file_of(R"({"__metadata__":{"step":3}})", 0), R"("step" is not a string)"},
  };
}

TEST_F(SafetensorsTest, AFifoIsRefusedAndNotWaitedFor) {
  const fs::path fifo = folder_ / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THROW(SafetensorsFile{fifo}, FormatError);
}

TEST_F(SafetensorsTest, RefusesEveryBrokenFileNamingTheFault) {
  for (const BrokenFile& broken : broken_files()) {
    const std::string message = error_of(broken.bytes);
    EXPECT_NE(message.find(broken.message), std::string::npos) << broken.name << ": " << message;
    EXPECT_NE(message.find("file.safetensors"), std::string::npos) << broken.name;
    EXPECT_EQ(message.find('\n'), std::string::npos) << broken.name;
  }
}

TEST_F(SafetensorsTest, AcceptsWhatTheReferenceAccepts) {
  EXPECT_EQ(error_of(file_of("{}", 0)), "");
  EXPECT_EQ(error_of(file_of("{}      ", 0)), "");
  EXPECT_EQ(error_of(one("F32", "[]", "[0,4]", 4)), "");
  EXPECT_EQ(error_of(one("F32", "[5,0]", "[0,0]", 0)), "");
  EXPECT_EQ(error_of(two("[4,8]", "[0,4]", 8)), "");
  EXPECT_EQ(
      error_of(file_of(R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"note":[1,{"x":2}]}})", 1)),
      "");
}

TEST_F(SafetensorsTest, MissingFilesAndFoldersAreErrorsThatNameThem) {
  try {
    SafetensorsFile file(folder_ / "absent.safetensors");
    FAIL();
  } catch (const FormatError& error) {
    EXPECT_NE(std::string(error.what()).find("absent.safetensors: cannot be opened"), std::string::npos);
  }
  EXPECT_THROW(SafetensorsFile file(folder_), FormatError);
}

// The same tensors as tools/make_golden/safetensors_file.py.
NamedTensors golden_tensors() {
  float denormal = 1e-40F;
  return {{"z.float32", at::tensor({1.5F, -2.0F, 3.25F, 0.0F, -0.0F, denormal}).view({2, 3})},
          {"a.float64", at::scalar_tensor(3.141592653589793, at::kDouble)},
          {"i.int32", at::tensor({std::numeric_limits<int32_t>::min(), 7})},
          {"i.int16", at::tensor({-32768, 7}).to(at::kShort)},
          {"i.int8", at::tensor({-128, 127}).to(at::kChar)},
          {"b.bool", at::tensor({1, 0}).to(at::kBool)},
          {"m.float16", at::tensor({0.5, -65504.0}, at::kDouble).to(at::kHalf)},
          {"b.bfloat16", at::tensor({1.0, -3.0, 0.0078125}, at::kDouble).to(at::kBFloat16)},
          {"i.int64", at::tensor({-(int64_t{1} << 62)})},
          {"c.uint8", at::tensor({0, 255}, at::kInt).to(at::kByte).view({1, 2})},
          {"empty", at::zeros({3, 0})},
          {"quote\"and\\line\nb\u00e9", at::tensor({7.0F})}};
}

TEST_F(SafetensorsTest, ReadsTheReferenceLibrarysFile) {
  SafetensorsFile file(fs::path(COHORT_SOURCE_DIR) / "tests/tensor/golden/reference.safetensors");
  EXPECT_EQ(file.metadata(), (std::map<std::string, std::string>{{"format", "pt"}}));
  EXPECT_EQ(file.tensors().size(), golden_tensors().size());
  for (const auto& [name, expected] : golden_tensors()) {
    at::Tensor actual = file.tensor(name);
    EXPECT_EQ(actual.scalar_type(), expected.scalar_type()) << name;
    EXPECT_TRUE(at::equal(actual, expected)) << name;
  }
}

TEST_F(SafetensorsTest, WritesTheReferenceLibrarysBytes) {
  write_safetensors(folder_ / "own.safetensors", golden_tensors());
  EXPECT_EQ(bytes_of(folder_ / "own.safetensors"),
            bytes_of(fs::path(COHORT_SOURCE_DIR) / "tests/tensor/golden/reference.safetensors"));
  EXPECT_FALSE(fs::exists(folder_ / "own.safetensors.tmp"));
}

TEST_F(SafetensorsTest, EveryDtypeAndLayoutComesBackAsItWas) {
  NamedTensors tensors;
  for (at::ScalarType dtype : {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble, at::kLong, at::kInt,
                               at::kShort, at::kChar, at::kByte, at::kBool}) {
    tensors.emplace_back(at::toString(dtype), at::arange(6).remainder(2).to(dtype).view({2, 3}));
  }
  tensors.emplace_back("transposed", at::arange(6).view({2, 3}).t());
  tensors.emplace_back("requires_grad", at::ones({2}).requires_grad_(true));
  write_safetensors(folder_ / "all.safetensors", tensors);
  SafetensorsFile file(folder_ / "all.safetensors");
  for (const auto& [name, expected] : tensors) {
    EXPECT_EQ(file.tensor(name).scalar_type(), expected.scalar_type()) << name;
    EXPECT_TRUE(at::equal(file.tensor(name), expected)) << name;
  }
}

TEST_F(SafetensorsTest, DtypesWithoutAPlaceInTheFormatAreNamed) {
  EXPECT_THROW(write_safetensors(folder_ / "x.safetensors", {{"w", at::zeros({1}, at::kComplexDouble)}}),
               FormatError);
  EXPECT_FALSE(fs::exists(folder_ / "x.safetensors"));
}

TEST_F(SafetensorsTest, TwoTensorsOfOneNameAreABug) {
  EXPECT_THROW(write_safetensors(folder_ / "x.safetensors", {{"w", at::zeros({1})}, {"w", at::zeros({1})}}),
               InternalError);
}

TEST_F(SafetensorsTest, TensorsOutliveTheFileAndWritingStaysInTheProcess) {
  write_safetensors(folder_ / "w.safetensors", {{"w", at::ones({4})}});
  at::Tensor tensor = SafetensorsFile(folder_ / "w.safetensors").tensor("w");
  EXPECT_TRUE(at::equal(tensor, at::ones({4})));
  tensor.fill_(2.0);
  EXPECT_TRUE(at::equal(tensor, at::full({4}, 2.0F)));
  EXPECT_TRUE(at::equal(SafetensorsFile(folder_ / "w.safetensors").tensor("w"), at::ones({4})));
}

TEST_F(SafetensorsTest, UnalignedForeignFilesAreReadToo) {
  std::string header = R"({"w":)" + entry("F32", "[2]", "[0,8]") + "}";
  while (header.size() % 4 != 1) header += ' ';
  const float values[] = {1.25F, -8.0F};
  std::string bytes =
      with_length(header.size(), header) + std::string(reinterpret_cast<const char*>(values), 8);
  SafetensorsFile file(write(bytes));
  EXPECT_TRUE(at::equal(file.tensor("w"), at::tensor({1.25F, -8.0F})));
}

TEST_F(SafetensorsTest, AnUnknownNameIsAnErrorThatNamesIt) {
  SafetensorsFile file(write(one("F32", "[1]", "[0,4]", 4)));
  EXPECT_THROW(file.tensor("v"), FormatError);
}

TEST_F(SafetensorsTest, AFailedWriteLeavesNothing) {
  EXPECT_THROW(write_safetensors(folder_ / "absent" / "w.safetensors", {{"w", at::ones({1})}}), FormatError);
  EXPECT_TRUE(fs::is_empty(folder_));
}

}  // namespace
}  // namespace cohort
