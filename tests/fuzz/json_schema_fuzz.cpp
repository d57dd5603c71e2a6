// Schemas and instances: any two texts get a verdict or a refusal. The input is a schema and an instance,
// with a line break between.
#include <cstdint>
#include <string_view>

#include "libs/common/check.h"
#include "libs/json_schema/schema.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cohort::json_schema;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t end = input.find('\n');
  std::string fault;
  std::optional<Value> document = read_value(input.substr(0, end), fault);
  const std::optional<Value> instance =
      read_value(end == std::string_view::npos ? "{}" : input.substr(end + 1), fault);
  if (!document || !instance) return 0;
  COHORT_CHECK(is_same(*instance, *instance), "A value differs from itself.");
  try {
    const Schema schema(*std::move(document));
    const auto wrong = find_fault(schema, *instance);
    COHORT_CHECK(!wrong || !wrong->empty(), "A fault is described by nothing.");
  } catch (const SchemaError&) {
  }
  return 0;
}
