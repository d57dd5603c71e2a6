// Ints of any size in templates. What they give was computed by Jinja2, with n = 10 ** 20 + 3.
#include <gtest/gtest.h>

#include "libs/common/long_integers.h"
#include "libs/jinja/template.h"

namespace cohort::jinja {
namespace {

TEST(JinjaIntegers, HaveAnySize) {
  const Json variables = {{"n", cohort::make_integer("100000000000000000003")}};
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"{{ n }}", "100000000000000000003"},
      {"{{ -n }}", "-100000000000000000003"},
      {"{{ n + 1 }}", "100000000000000000004"},
      {"{{ n * n }}", "10000000000000000000600000000000000000009"},
      {"{{ n // 7 }}", "14285714285714285714"},
      {"{{ n % 7 }}", "5"},
      {"{{ -n // 7 }}", "-14285714285714285715"},
      {"{{ -n % 7 }}", "2"},
      {"{{ 2 ** 100 }}", "1267650600228229401496703205376"},
      {"{{ 9223372036854775807 + 1 }}", "9223372036854775808"},
      {"{{ n == n + 0 }}{{ n > 5 }}{{ n < 1e30 }}", "TrueTrueTrue"},
      {"{{ {'a': [n]}|tojson }}", "{\"a\": [100000000000000000003]}"},
      {"{{ n is integer }}{{ n is number }}{{ n is even }}", "TrueTrueFalse"},
      {"{{ '%d' % n }} {{ '%x' % n }}", "100000000000000000003 56bc75e2d63100003"},
      {"{{ '123456789012345678901'|int + 1 }}", "123456789012345678902"},
      {"{{ n|string|length }}", "21"},
      {"{{ n / 4 }}", "2.5e+19"},
      {"{{ (n - n + 3) in [3] }}", "True"},
      {"{{ 1e20|int }}", "100000000000000000000"},
      {"{{ n|abs }} {{ (-n)|abs }}", "100000000000000000003 100000000000000000003"},
      {"{{ [n, 3, -n]|sort }}", "[-100000000000000000003, 3, 100000000000000000003]"},
      {"{{ 0x10000000000000000 }}", "18446744073709551616"},
      {"{{ -9223372036854775808 // -1 }}", "9223372036854775808"},
  };
  for (const auto& [source, text] : cases)
    EXPECT_EQ(Template(source).render(variables, {}).text, text) << source;
}

TEST(JinjaIntegers, AreAsLongAsPythonPrints) {
  EXPECT_EQ(Template("{{ 10 ** 4290 }}").render(Json::object(), {}).text.size(), 4291U);
  for (const char* source : {"{{ 10 ** 4400 }}", "{{ 10 ** 4000 * 10 ** 4000 }}", "{{ (10 ** 400) / 3 }}",
                             "{{ 10 ** 400 * 1.5 }}", "{{ 1 // 0 }}", "{{ 10 ** 30 % 0 }}"}) {
    EXPECT_THROW(Template(source).render(Json::object(), {}), TemplateError) << source;
  }
}

}  // namespace
}  // namespace cohort::jinja
