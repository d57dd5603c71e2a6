#include "cohort/core/foreign_format.h"

#include <algorithm>

#include "cohort/core/error.h"

namespace cohort {
namespace {

using std::string_view;
using namespace std::string_view_literals;

/// A format's first bytes. `reader`: the Python that gives a pandas table of FILE; empty where there is none.
struct Format {
  string_view magic;
  const char* name;
  const char* reader = "";
};

constexpr Format kFormats[] = {
    {"PAR1"sv, "a Parquet file", "pandas.read_parquet(FILE)"},
    {"ARROW1"sv, "an Arrow file", "pandas.read_feather(FILE)"},
    {"FEA1"sv, "a Feather file", "pandas.read_feather(FILE)"},
    // An Arrow stream: what `datasets` keeps in its folders.
    {"\xFF\xFF\xFF\xFF"sv, "an Arrow file", "__import__('datasets').Dataset.from_file(FILE).to_pandas()"},
    {"ORC"sv, "an ORC file", "pandas.read_orc(FILE)"},
    {"Obj\x01"sv, "an Avro file"},
    {"\x89HDF\r\n"sv, "an HDF5 file", "pandas.read_hdf(FILE)"},
    {"SQLite format 3\0"sv, "an SQLite file"},
    {"\x93NUMPY"sv, "a NumPy file"},
    {"\xD0\xCF\x11\xE0"sv, "an Excel file", "pandas.read_excel(FILE)"},
    {"%PDF"sv, "a PDF file"},
    {"\xFD\x37zXZ"sv, "an xz file"},
    {"BZh"sv, "a bzip2 file"},
    {"PK\x03\x04"sv, "a zip file"},
    {"\x04\x22\x4D\x18"sv, "an lz4 file"},
};

/// Text in 16 or 32 bits, told by its mark or by the zero beside the first brace.
constexpr std::pair<string_view, const char*> kWideTexts[] = {
    {"\xFF\xFE\0\0"sv, "UTF-32"}, {"\0\0\xFE\xFF"sv, "UTF-32"}, {"\xFF\xFE"sv, "UTF-16"},
    {"\xFE\xFF"sv, "UTF-16"},     {"{\0"sv, "UTF-16LE"},        {"\0{"sv, "UTF-16BE"},
    {"[\0"sv, "UTF-16LE"},        {"\0["sv, "UTF-16BE"},
};

constexpr size_t kTarMagicOffset = 257;

[[noreturn]] void refuse(const std::string& name, const std::string& what, const std::string& way) {
  throw FormatError(str(name, ": is ", what, ", which is not read; ", way));
}

bool has_extension(std::string name, string_view extension) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const string_view packed : {".gz"sv, ".zst"sv}) {
    if (name.ends_with(packed)) name.resize(name.size() - packed.size());
  }
  return name.ends_with(extension);
}

bool is_packed(const std::string& name) { return name.ends_with(".gz") || name.ends_with(".zst"); }

/// The command that unpacks a file whose name says that it is compressed, and a pipe behind it.
std::string unpacked(const std::string& name) {
  if (!is_packed(name)) return "";
  return str(name.ends_with(".gz") ? "gzip" : "zstd", " -dc '", name, "' | ");
}

/// The command that makes JSONL of a table.
std::string table_to_jsonl(const std::string& reader, const std::string& name) {
  std::string read = reader;
  read.replace(read.find("FILE"), 4, "'" + name + "'");
  return str("make it JSONL: python3 -c \"import pandas; ", read, ".to_json('", name,
             ".jsonl', orient='records', lines=True)\"");
}

bool looks_like_csv(string_view line, const std::string& name) {
  const bool is_named = has_extension(name, ".csv") || has_extension(name, ".tsv");
  const bool has_braces = line.find_first_of("{}[]") != string_view::npos;
  const bool is_separated = line.find_first_of(",;\t") != string_view::npos;
  return !line.empty() && (is_named || (!has_braces && is_separated));
}

}  // namespace

void refuse_lfs_pointer(string_view first_bytes, const std::string& name) {
  if (!first_bytes.starts_with("version https://git-lfs.github.com/spec/")) return;
  throw FormatError(str(name,
                        ": is a Git LFS pointer and not the file that it stands for; run `git lfs install` "
                        "and `git lfs pull` in its folder, or download the file again"));
}

void refuse_foreign_bytes(string_view first_bytes, const std::string& name) {
  refuse_lfs_pointer(first_bytes, name);
  for (const Format& format : kFormats) {
    if (!first_bytes.starts_with(format.magic)) continue;
    if (has_extension(name, ".xlsx"))
      refuse(name, "an Excel file", table_to_jsonl("pandas.read_excel(FILE)", name));
    const bool has_reader = *format.reader != '\0';
    refuse(name, format.name,
           has_reader ? table_to_jsonl(format.reader, name) : "make it JSONL, plain, gzip or zstd");
  }
  for (const auto& [magic, encoding] : kWideTexts) {
    if (!first_bytes.starts_with(magic)) continue;
    refuse(name, str(encoding, " text"),
           str("make it UTF-8: ", unpacked(name), "iconv -f ", encoding, " -t UTF-8",
               is_packed(name) ? "" : " '" + name + "'", " > '", name, ".utf8'"));
  }
  if (first_bytes.size() > kTarMagicOffset && first_bytes.substr(kTarMagicOffset).starts_with("ustar"))
    refuse(name, "a tar archive", str("unpack it: tar xf '", name, "'"));
}

void refuse_foreign_rows(string_view text, const std::string& name) {
  refuse_foreign_bytes(text, name);
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  const string_view line = text.substr(0, text.find('\n'));
  const auto jq = [&](const char* filter) {
    return str("make it JSONL: ", unpacked(name), "jq -c '", filter, "'",
               is_packed(name) ? "" : " '" + name + "'", " > '", name, ".jsonl'");
  };
  if (text.starts_with('[')) refuse(name, "one JSON list", jq(".[]"));
  if (text.starts_with('{')) {
    const bool is_alone = line.find_first_not_of(" \t\r", 1) == string_view::npos;
    if (is_alone && line.size() < text.size()) refuse(name, "JSON over several lines", jq("."));
    return;
  }
  if (text.starts_with("<")) refuse(name, "HTML or XML", "download the file itself, which is JSONL");
  if (looks_like_csv(line, name)) {
    const bool has_comma = line.find(',') != string_view::npos,
               has_semicolon = line.find(';') != string_view::npos;
    const char* separator = line.find('\t') != string_view::npos ? "'\\t'"
                            : has_semicolon && !has_comma        ? "';'"
                                                                 : "','";
    refuse(name, "a CSV file",
           table_to_jsonl(str("pandas.read_csv(FILE, sep=", separator, ", dtype=str)"), name));
  }
}

}  // namespace cohort
