// What the code reward must know of a language: its fences, how its programs are compiled and run, and which
// files of the machine they need.
#pragma once

#include <string>
#include <vector>

namespace cohort {

/// The keys that choose a language, as the code reward describes them.
struct CodeLanguageKeys {
  std::vector<std::string> command;
  std::string language;
  std::string compile;
  std::vector<std::string> runtime;
};

struct CodeLanguage {
  std::vector<std::string> tags;  ///< of fenced blocks, in lower case
  std::string source_name;        ///< the file that the program's text becomes
  /// {source} and {program} stand for the files; empty where nothing is compiled.
  std::vector<std::string> compile;
  std::vector<std::string> run;
  std::vector<std::string> environment;
  std::vector<std::string> runtime;  ///< files and folders to be read and executed, by their real paths
  std::string smallest_program;      ///< does nothing; empty where the language is not ours to know
  bool is_python = false;            ///< runs through kPythonDriver, so that tests may call functions
};

/// The language of a reward or tool; messages begin with `where`. For Python the interpreter is asked for its
/// files. Throws ConfigError for a language that is not known and has no `command`, for commands without the
/// files that they are about, and for programs and `runtime` paths that do not exist.
CodeLanguage find_language(const std::string& where, const CodeLanguageKeys& keys);

/// `command` with the paths of the files in the place of {source} and {program}.
std::vector<std::string> with_files(std::vector<std::string> command, const std::string& source,
                                    const std::string& program);

}  // namespace cohort
