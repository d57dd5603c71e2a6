// JSONL, plain, gzip or zstd: any bytes are rows and refusals, each line is one of them, and a row's offset
// leads back to it.
#include <cstdint>
#include <cstdlib>

#include "cohort/core/error.h"
#include "cohort/core/jsonl_reader.h"
#include "cohort/tasks/row_text.h"

namespace {

using cohort::Row;

void require(bool holds) {
  if (!holds) std::abort();
}

std::vector<int32_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

/// What is made of a row: it may be refused in one line.
void use(const Row& row) {
  const cohort::TextFormat format{bytes_of, bytes_of, [](const cohort::Json& messages, const auto& options) {
                                    return messages.dump() + (options.add_generation_prompt ? ">" : "");
                                  }};
  const auto attempt = [](const auto& action) {
    try {
      action();
    } catch (const cohort::UserError& error) {
      require(std::string(error.what()).find('\n') == std::string::npos);
    }
  };
  attempt([&] { cohort::prompt_key(row); });
  attempt([&] { cohort::to_prompt(row, format); });
  attempt([&] { cohort::to_prompt_completion(row, format); });
}

void read(std::string_view bytes, bool is_plain) {
  auto stream = cohort::memory_stream(bytes);
  if (!is_plain) stream = cohort::decompressed(std::move(stream), "f");
  cohort::JsonlReader reader(std::move(stream), "f");
  int64_t num_lines = 0, num_rows = 0, num_refused = 0, last_line = 0;
  while (reader.next()) {
    ++num_lines;
    require(reader.line_number() > last_line);
    last_line = reader.line_number();
    if (is_plain) require(bytes.substr(reader.offset(), reader.text().size()) == reader.text());
    try {
      const Row row{reader.row(), "f", "f"};
      ++num_rows;
      // What was read can be written and read again.
      require(cohort::parse_row(cohort::to_json_text(row.columns), "g", 1) == row.columns);
      use(row);
    } catch (const cohort::UserError& error) {
      require(std::string(error.what()).find('\n') == std::string::npos);
      ++num_refused;
    }
  }
  require(num_lines == num_rows + num_refused);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const bool is_plain : {true, false}) {
    try {
      read(bytes, is_plain);
    } catch (const cohort::UserError&) {
    }
  }
  return 0;
}
