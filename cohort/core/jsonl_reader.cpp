#include "cohort/core/jsonl_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/core/foreign_format.h"

namespace cohort {
namespace {

constexpr size_t kBufferBytes = 1 << 16;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool is_blank(const std::string& text) {
  return text.size() <= kMaxLineBytes && text.find_first_not_of(" \t\r") == std::string::npos;
}

}  // namespace

JsonlReader::JsonlReader(const std::filesystem::path& path)
    : JsonlReader(decompressed(file_stream(std::make_shared<const InputFile>(path)), path.string()),
                  path.string()) {}

JsonlReader::JsonlReader(std::unique_ptr<ByteStream> stream, std::string name)
    : stream_(std::move(stream)), name_(std::move(name)), buffer_(kBufferBytes) {}

std::string JsonlReader::where() const { return str(name_, ":", line_number_); }

bool JsonlReader::fill() {
  begin_ = end_ = 0;
  end_ = stream_->read(buffer_.data(), buffer_.size());
  if (next_offset_ == 0 && text_.empty()) refuse_foreign_rows({buffer_.data(), end_}, name_);
  return end_ > 0;
}

/// One line, blank or not; false at the end.
bool JsonlReader::read_line() {
  text_.clear();
  offset_ = next_offset_;
  bool is_ended = false;
  while (!is_ended && (begin_ < end_ || fill())) {
    const char* start = buffer_.data() + begin_;
    const auto* newline = static_cast<const char*>(std::memchr(start, '\n', end_ - begin_));
    is_ended = newline != nullptr;
    const size_t length = is_ended ? static_cast<size_t>(newline - start) : end_ - begin_;
    text_.append(start, std::min(length, kMaxLineBytes + 1 - text_.size()));
    begin_ += length + (is_ended ? 1 : 0);
    next_offset_ += length + (is_ended ? 1 : 0);
  }
  if (next_offset_ == offset_) return false;
  ++line_number_;
  if (offset_ == 0 && text_.starts_with(kByteOrderMark)) {
    text_.erase(0, kByteOrderMark.size());
    offset_ = kByteOrderMark.size();
  }
  if (text_.size() <= kMaxLineBytes && text_.ends_with('\r')) text_.pop_back();
  return true;
}

bool JsonlReader::next() {
  while (read_line()) {
    if (!is_blank(text_)) return true;
  }
  text_.clear();
  return false;
}

Json parse_row(const std::string& line, const std::string& name, int64_t line_number) {
  const std::string where = str(name, ":", line_number);
  if (line.size() > kMaxLineBytes) {
    throw FormatError(str(where, ": the line is longer than ", kMaxLineBytes >> 20, " MiB"));
  }
  if (const size_t byte = line.find('\0'); byte != std::string::npos) {
    throw FormatError(str(where, ": a NUL byte at byte ", byte + 1, "; JSONL is text"));
  }
  Json row = parse_json_line(line, name, line_number);
  if (!row.is_object()) throw FormatError(str(where, ": expected a JSON object on this line"));
  return row;
}

void for_each_row(JsonlReader reader, const OnRow& f) {
  while (reader.next()) f(reader.row(), reader.where());
}

std::vector<Json> read_rows(const std::filesystem::path& path) {
  std::vector<Json> rows;
  for_each_row(JsonlReader(path), [&](const Json& row, const std::string&) { rows.push_back(row); });
  return rows;
}

}  // namespace cohort
