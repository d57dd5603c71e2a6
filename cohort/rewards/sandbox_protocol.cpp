#include "cohort/rewards/sandbox_protocol.h"

namespace cohort {
namespace {

class Writer {
 public:
  void put(int64_t value) {
    for (int byte = 0; byte < 8; ++byte)
      bytes_ += static_cast<char>(static_cast<uint64_t>(value) >> 8 * byte);
  }
  void put(std::string_view text) {
    put(static_cast<int64_t>(text.size()));
    bytes_ += text;
  }
  void put(const std::vector<std::string>& texts) {
    put(static_cast<int64_t>(texts.size()));
    for (const std::string& text : texts) put(std::string_view(text));
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Reads past the end give zeros and make is_complete() false.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  int64_t integer() {
    if (rest_.size() < 8) return fail();
    uint64_t value = 0;
    for (int byte = 0; byte < 8; ++byte) {
      value |= static_cast<uint64_t>(static_cast<unsigned char>(rest_[byte])) << 8 * byte;
    }
    rest_.remove_prefix(8);
    return static_cast<int64_t>(value);
  }
  std::string text() {
    const auto size = static_cast<uint64_t>(integer());
    if (size > rest_.size()) return std::string(static_cast<size_t>(fail()), ' ');
    std::string value(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return value;
  }
  // At least one byte each: no small message asks for a large list.
  size_t count() {
    const auto value = static_cast<uint64_t>(integer());
    return value > rest_.size() ? static_cast<size_t>(fail()) : value;
  }
  std::vector<std::string> texts() {
    std::vector<std::string> values(count());
    for (std::string& value : values) value = text();
    return values;
  }
  bool is_complete() const { return is_good_ && rest_.empty(); }

 private:
  int64_t fail() {
    is_good_ = false;
    rest_ = {};
    return 0;
  }

  std::string_view rest_;
  bool is_good_ = true;
};

}  // namespace

std::string encode(const SandboxJob& job) {
  Writer out;
  out.put(job.command);
  out.put(job.environment);
  out.put(static_cast<int64_t>(job.files.size()));
  for (const SandboxFile& file : job.files) {
    out.put(file.name);
    out.put(file.bytes);
    out.put(int64_t{file.is_program});
  }
  out.put(job.input);
  out.put(job.result_file);
  for (int64_t limit : {job.limits.wall_ms, job.limits.memory_bytes, job.limits.output_bytes,
                        job.limits.file_bytes, job.limits.num_processes}) {
    out.put(limit);
  }
  out.put(int64_t{job.is_session});
  return out.take();
}

std::string encode(const SandboxOutcome& outcome) {
  Writer out;
  out.put(static_cast<int64_t>(outcome.cause));
  out.put(int64_t{outcome.code});
  out.put(outcome.output);
  out.put(outcome.error_tail);
  out.put(outcome.result);
  out.put(int64_t{outcome.has_result});
  out.put(outcome.wall_us);
  out.put(outcome.cpu_us);
  out.put(outcome.failure);
  return out.take();
}

std::string encode(const SandboxGreeting& greeting) {
  Writer out;
  out.put(int64_t{greeting.is_accepted});
  out.put(greeting.level);
  out.put(greeting.explanation);
  out.put(int64_t{greeting.limits_memory});
  return out.take();
}

std::optional<SandboxJob> decode_job(std::string_view bytes) {
  Reader in(bytes);
  SandboxJob job;
  job.command = in.texts();
  job.environment = in.texts();
  job.files.resize(in.count());
  for (SandboxFile& file : job.files) {
    file.name = in.text();
    file.bytes = in.text();
    file.is_program = in.integer() != 0;
  }
  job.input = in.text();
  job.result_file = in.text();
  for (int64_t* limit : {&job.limits.wall_ms, &job.limits.memory_bytes, &job.limits.output_bytes,
                         &job.limits.file_bytes, &job.limits.num_processes}) {
    *limit = in.integer();
  }
  job.is_session = in.integer() != 0;
  if (!in.is_complete()) return std::nullopt;
  return job;
}

std::optional<SandboxOutcome> decode_outcome(std::string_view bytes) {
  Reader in(bytes);
  SandboxOutcome outcome;
  const int64_t cause = in.integer();
  if (cause < 0 || cause > static_cast<int64_t>(SandboxCause::kFailure)) return std::nullopt;
  outcome.cause = static_cast<SandboxCause>(cause);
  outcome.code = static_cast<int32_t>(in.integer());
  outcome.output = in.text();
  outcome.error_tail = in.text();
  outcome.result = in.text();
  outcome.has_result = in.integer() != 0;
  outcome.wall_us = in.integer();
  outcome.cpu_us = in.integer();
  outcome.failure = in.text();
  if (!in.is_complete()) return std::nullopt;
  return outcome;
}

std::optional<SandboxGreeting> decode_greeting(std::string_view bytes) {
  Reader in(bytes);
  SandboxGreeting greeting;
  greeting.is_accepted = in.integer() != 0;
  greeting.level = in.text();
  greeting.explanation = in.text();
  greeting.limits_memory = in.integer() != 0;
  if (!in.is_complete()) return std::nullopt;
  return greeting;
}

std::string sandbox_header(uint64_t size) {
  Writer out;
  out.put(static_cast<int64_t>(size));
  return out.take();
}

std::optional<uint64_t> read_sandbox_header(std::string_view header) {
  const auto size = static_cast<uint64_t>(Reader(header).integer());
  if (size > kMaxSandboxMessage) return std::nullopt;
  return size;
}

}  // namespace cohort
