#include "cohort/view/prometheus.h"

#include <array>
#include <charconv>
#include <cmath>
#include <map>

#include "libs/common/ascii.h"
#include "libs/common/str.h"
#include "libs/common/utf8.h"

namespace cohort {
namespace {

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  std::array<char, 32> text{};
  const auto result = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), result.ptr};
}

std::string sample(const std::string& name, const RunView& run, const std::string& figure, double value) {
  std::string labels = "run=\"" + prometheus_label(run.name()) + "\"";
  if (!figure.empty()) labels += ",figure=\"" + prometheus_label(figure) + "\"";
  return name + "{" + labels + "} " + number_text(value) + "\n";
}

}  // namespace

std::string prometheus_name(std::string_view figure) {
  std::string name = "cohort_";
  for (const char c : figure) name += is_letter(c) || is_digit(c) ? c : '_';
  return name;
}

std::string prometheus_label(std::string_view value) {
  std::string bytes(value), escaped;
  for (const char c : take_all_utf8(bytes)) {
    if (c == '\\' || c == '"') escaped += '\\';
    if (c == '\n') {
      escaped += "\\n";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string prometheus_text(std::span<const RunView> runs) {
  std::map<std::string, std::string> families;  // all samples of a name have to follow one another
  for (const RunView& run : runs) {
    families["cohort_step"] += sample("cohort_step", run, "", static_cast<double>(run.figures().last_step()));
    for (const std::string& figure : run.figures().names()) {
      const FigureColumn* column = run.figures().find(figure);
      if (column->values.empty()) continue;
      const std::string name = prometheus_name(figure);
      families[name] += sample(name, run, figure, column->values.back());
    }
  }
  std::string text;
  for (const auto& [name, samples] : families) text += str("# TYPE ", name, " gauge\n", samples);
  return text;
}

}  // namespace cohort
