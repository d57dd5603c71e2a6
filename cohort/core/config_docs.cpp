// The documentation of settings: a Markdown page's tables and the text of --help.
#include "cohort/core/config_io.h"
#include "cohort/core/config_values.h"
#include "libs/common/str.h"

namespace cohort {
namespace {

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

/// The meaning, and what `--resume` makes of another value.
std::string full_meaning(const Field& field) {
  switch (field.on_resume) {
    case OnResume::kRefused:
      return field.meaning;
    case OnResume::kTaken:
      return field.meaning + " May change at `--resume`.";
    case OnResume::kSameFiles:
      return field.meaning + " May be another path to the same files at `--resume`.";
  }
  return field.meaning;
}

void append_table(const Section& section, const std::string& title, std::string& out) {
  if (!title.empty()) out += str("\n### `", title, "`\n\n", section.meaning, "\n");
  if (section.fields.empty()) return;
  out += "\n| key | type | default | range | meaning |\n|---|---|---|---|---|\n";
  for (const Field& field : section.fields) {
    const std::string value = value_text(field);
    out += str("| `", field.name, "` | ", type_name(field), " | ",
               value.empty() ? "unset" : str("`", escaped(value), "`"), " | ",
               escaped(field.limits.describe()), " | ", escaped(full_meaning(field)), " |\n");
  }
}

void append_markdown(const Section& section, const std::string& prefix, std::string& out) {
  for (const Section& child : section.sections) {
    append_table(child, "[" + prefix + child.name + "]", out);
    append_markdown(child, prefix + child.name + ".", out);
  }
  for (const SectionList& list : section.lists) {
    append_table(list.prototype(), "[[" + prefix + list.name + "]]", out);
    append_markdown(list.prototype(), prefix + list.name + ".", out);
  }
}

void append_help(const Section& section, const std::string& prefix, std::string& out) {
  if (!section.meaning.empty()) out += "\n" + section.meaning + "\n";
  for (const Field& field : section.fields) {
    const std::string limits = field.limits.describe(), value = value_text(field);
    out += str("  --", prefix, field.name, "  (", type_name(field), limits.empty() ? "" : ": ", limits,
               "; default ", value.empty() ? "unset" : value, ")\n      ", full_meaning(field), "\n");
  }
  for (const Section& child : section.sections) append_help(child, prefix + child.name + ".", out);
  for (const SectionList& list : section.lists)
    append_help(list.prototype(), prefix + list.name + ".0.", out);
}

}  // namespace

std::string to_markdown(const Section& settings) {
  std::string out;
  append_table(settings, "", out);
  append_markdown(settings, "", out);
  return out;
}

std::string to_help(const Section& settings) {
  std::string out;
  append_help(settings, "", out);
  return out;
}

}  // namespace cohort
