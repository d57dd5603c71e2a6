#include "cohort/core/byte_stream.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/core/foreign_format.h"

namespace cohort {
namespace {

constexpr size_t kBufferBytes = 1 << 16;
constexpr size_t kZstdMagicBytes = 4;

// gzip never compresses further than 1032 times; data that claim more are made to fill a disk.
constexpr uint64_t kMaxRatio = 1100;
constexpr uint64_t kAlwaysAllowed = uint64_t{64} << 20;

class FileStream : public ByteStream {
 public:
  FileStream(std::shared_ptr<const InputFile> file, uint64_t begin)
      : file_(std::move(file)), position_(begin) {}

  size_t read(char* out, size_t size) override {
    const size_t count = file_->read_at(out, size, position_);
    position_ += count;
    return count;
  }

 private:
  std::shared_ptr<const InputFile> file_;
  uint64_t position_;
};

class MemoryStream : public ByteStream {
 public:
  explicit MemoryStream(std::string_view text) : text_(text) {}

  size_t read(char* out, size_t size) override {
    const size_t count = std::min(size, text_.size());
    std::memcpy(out, text_.data(), count);
    text_.remove_prefix(count);
    return count;
  }

 private:
  std::string_view text_;
};

/// A source whose first bytes were looked at, and a window onto what comes next.
class Input {
 public:
  Input(std::unique_ptr<ByteStream> source, std::string name)
      : source_(std::move(source)), name_(std::move(name)), buffer_(kBufferBytes) {
    while (end_ < kFormatBytes && refill()) {
    }
  }

  std::string_view rest() const { return {buffer_.data() + begin_, end_ - begin_}; }
  void take(size_t count) { begin_ += count; }
  const std::string& name() const { return name_; }

  /// Reads more behind `rest`; false at the end.
  bool refill() {
    if (begin_ == end_) begin_ = end_ = 0;
    if (end_ == buffer_.size()) return true;
    const size_t count = source_->read(buffer_.data() + end_, buffer_.size() - end_);
    end_ += count;
    num_bytes_ += count;
    return count > 0;
  }

  /// Notes bytes that came out; refuses too many for what went in.
  void give(size_t count) {
    num_given_ += count;
    if (num_given_ > kAlwaysAllowed + kMaxRatio * num_bytes_) {
      fail(str("the data are more than ", kMaxRatio,
               " times as large as the file; decompress it yourself if that ", "is right: found"));
    }
  }

  /// Whether nothing is left.
  bool is_at_end() { return rest().empty() && !refill(); }

  [[noreturn]] void fail(const std::string& what) const {
    throw FormatError(
        str(name_, ": ", what, " at byte ", num_bytes_ - rest().size(), " of the compressed data"));
  }

 private:
  std::unique_ptr<ByteStream> source_;
  std::string name_;
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;
  uint64_t num_bytes_ = 0;  // read from the source
  uint64_t num_given_ = 0;
};

class PlainStream : public ByteStream {
 public:
  explicit PlainStream(Input input) : input_(std::move(input)) {}

  size_t read(char* out, size_t size) override {
    if (input_.is_at_end()) return 0;
    const size_t count = std::min(size, input_.rest().size());
    std::memcpy(out, input_.rest().data(), count);
    input_.take(count);
    return count;
  }

 private:
  Input input_;
};

class GzipStream : public ByteStream {
 public:
  explicit GzipStream(Input input) : input_(std::move(input)) {
    constexpr int kGzipOnly = 16;
    COHORT_CHECK(::inflateInit2(&stream_, MAX_WBITS + kGzipOnly) == Z_OK);
  }
  ~GzipStream() override { ::inflateEnd(&stream_); }

  size_t read(char* out, size_t size) override {
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = static_cast<uInt>(std::min<size_t>(size, 1u << 30));
    const uInt wanted = stream_.avail_out;
    while (stream_.avail_out == wanted) {
      if (input_.is_at_end()) {
        if (!is_inside_) return 0;
        input_.fail("the gzip data end too early; the file is cut short");
      }
      if (!is_inside_) ::inflateReset(&stream_);
      inflate_some();
    }
    input_.give(wanted - stream_.avail_out);
    return wanted - stream_.avail_out;
  }

 private:
  void inflate_some() {
    const std::string_view rest = input_.rest();
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest.data()));
    stream_.avail_in = static_cast<uInt>(rest.size());
    const int result = ::inflate(&stream_, Z_NO_FLUSH);
    input_.take(rest.size() - stream_.avail_in);
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
      input_.fail(str("damaged gzip data (", stream_.msg != nullptr ? stream_.msg : "unknown", ")"));
    }
    is_inside_ = result != Z_STREAM_END;
  }

  Input input_;
  z_stream stream_{};
  bool is_inside_ = true;  // of a member
};

class ZstdStream : public ByteStream {
 public:
  explicit ZstdStream(Input input) : input_(std::move(input)), stream_(::ZSTD_createDStream()) {
    COHORT_CHECK(stream_ != nullptr);
  }
  ~ZstdStream() override { ::ZSTD_freeDStream(stream_); }

  size_t read(char* out, size_t size) override {
    ZSTD_outBuffer output{out, size, 0};
    while (output.pos == 0) {
      if (input_.is_at_end() && !has_more_output_) {
        if (!is_inside_) return 0;
        input_.fail("the zstd data end too early; the file is cut short");
      }
      const std::string_view rest = input_.rest();
      ZSTD_inBuffer in{rest.data(), rest.size(), 0};
      const size_t result = ::ZSTD_decompressStream(stream_, &output, &in);
      input_.take(in.pos);
      if (::ZSTD_isError(result) != 0) {
        input_.fail(str("damaged zstd data (", ::ZSTD_getErrorName(result), ")"));
      }
      is_inside_ = result != 0;
      has_more_output_ = is_inside_ && output.pos == output.size;
    }
    input_.give(output.pos);
    return output.pos;
  }

 private:
  Input input_;
  ZSTD_DStream* stream_;
  bool is_inside_ = true;         // of a frame
  bool has_more_output_ = false;  // that the last call had no room for
};

}  // namespace

Compression compression_of(std::string_view first_bytes, const std::string& name) {
  refuse_foreign_bytes(first_bytes, name);
  // The second half of zstd's are skippable frames, 0x184D2A50 to 0x184D2A5F.
  const bool is_skippable = first_bytes.size() >= kZstdMagicBytes && (first_bytes[0] & 0xF0) == 0x50 &&
                            first_bytes.substr(1, 3) == "\x2A\x4D\x18";
  if (first_bytes.starts_with("\x1F\x8B")) return Compression::kGzip;
  if (first_bytes.starts_with("\x28\xB5\x2F\xFD") || is_skippable) return Compression::kZstd;
  return Compression::kNone;
}

std::unique_ptr<ByteStream> file_stream(std::shared_ptr<const InputFile> file, uint64_t begin) {
  return std::make_unique<FileStream>(std::move(file), begin);
}

std::unique_ptr<ByteStream> memory_stream(std::string_view text) {
  return std::make_unique<MemoryStream>(text);
}

std::unique_ptr<ByteStream> decompressed(std::unique_ptr<ByteStream> source, const std::string& name) {
  Input input(std::move(source), name);
  switch (compression_of(input.rest(), name)) {
    case Compression::kGzip:
      return std::make_unique<GzipStream>(std::move(input));
    case Compression::kZstd:
      return std::make_unique<ZstdStream>(std::move(input));
    default:
      return std::make_unique<PlainStream>(std::move(input));
  }
}

}  // namespace cohort
