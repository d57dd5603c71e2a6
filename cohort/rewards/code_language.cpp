#include "cohort/rewards/code_language.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "cohort/core/error.h"
#include "cohort/core/json.h"
#include "cohort/rewards/child_process.h"
#include "cohort/rewards/sandbox_protocol.h"
#include "libs/common/nearest.h"

namespace cohort {
namespace {

struct KnownLanguage {
  const char* name;
  const char* tags;
  const char* source_name;
  const char* compile;
  const char* run;
  const char* smallest;
};

constexpr KnownLanguage kLanguages[] = {
    {"python", "python py python3", "program.py", "", "python3 -S -B {source}", "pass\n"},
    {"bash", "bash sh shell", "program.sh", "", "bash {source}", ":\n"},
    {"cpp", "cpp c++ cxx cc", "program.cpp", "g++ -std=c++20 -O2 -o {program} {source}", "{program}",
     "int main() {}\n"},
    {"c", "c", "program.c", "gcc -std=c17 -O2 -o {program} {source} -lm", "{program}",
     "int main(void) { return 0; }\n"},
};

// What any other language's programs may read: programs and libraries, none of the machine's settings or
// data.
constexpr const char* kUsualRuntime[] = {"/usr/bin", "/usr/lib", "/usr/lib64", "/usr/libexec",
                                         "/usr/include"};

// Prints, as one line of JSON, the files that this Python consists of. Modules are imported for the libraries
// that they load.
constexpr const char* kAskPython = R"(
import json, os, sys, sysconfig
for name in ("bz2", "ctypes", "decimal", "hashlib", "lzma", "sqlite3", "ssl", "uuid", "zlib"):
    try:
        __import__(name)
    except ImportError:
        pass
maps = [line.split(None, 5)[5].strip() for line in open("/proc/self/maps") if ".so" in line]
paths = {os.path.dirname(path) for path in maps if path.startswith("/")}
paths |= {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), os.path.realpath(sys.executable)}
packages = [] if sys.prefix == sys.base_prefix else [os.path.realpath(sysconfig.get_path("purelib"))]
paths = sorted({os.path.realpath(path) for path in paths})
print(json.dumps({"executable": os.path.realpath(sys.executable), "paths": paths, "packages": packages}))
)";

std::vector<std::string> split(const std::string& text) {
  std::istringstream words(text);
  std::vector<std::string> result;
  for (std::string word; words >> word;) result.push_back(word);
  return result;
}

std::vector<std::string> words_of(const std::vector<std::string>& command) {
  return command.size() == 1 ? split(command[0]) : command;
}

// Debian's alternatives lead through /etc, which no program sees.
std::string follow_alternatives(std::filesystem::path program) {
  std::error_code error;
  while (std::filesystem::is_symlink(program, error)) {
    const std::filesystem::path target = program.parent_path() / std::filesystem::read_symlink(program);
    const bool is_alternative = target.string().starts_with("/etc/");
    if (!is_alternative && !program.string().starts_with("/etc/")) break;
    program = target;
  }
  return program.string();
}

std::string find_program(const std::string& where, const std::string& name) {
  if (name.starts_with("{")) return name;
  const char* path = getenv("PATH");
  std::istringstream folders(name.find('/') == std::string::npos && path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string candidate = str(folder, "/", name);
    if (!folder.empty() && access(candidate.c_str(), X_OK) == 0) return follow_alternatives(candidate);
  }
  if (name.find('/') != std::string::npos && access(name.c_str(), X_OK) == 0)
    return follow_alternatives(std::filesystem::absolute(name));
  throw ConfigError(str(where, "there is no program \"", name, "\" to run or compile code with"));
}

// The key `runtime` by real paths.
std::vector<std::string> read_runtime(const std::string& where, const std::vector<std::string>& names) {
  std::vector<std::string> paths;
  for (const std::string& name : names) {
    std::error_code error;
    const std::string path = std::filesystem::canonical(name, error).string();
    if (error) {
      throw ConfigError(
          str(where, "`runtime` names \"", name, "\", which can't be found: ", error.message()));
    }
    for (const char* root : {"/proc", "/sys", "/dev"}) {
      if (path == root || path.starts_with(str(root, "/")) || path == "/" || path == "/etc") {
        throw ConfigError(str(where, "`runtime` names \"", name,
                              "\", which would show the machine to programs; name what is needed of it"));
      }
    }
    paths.push_back(path);
  }
  return paths;
}

// The interpreter by its real path, without the shell scripts of version managers, and all that it needs.
void resolve_python(const std::string& where, const std::vector<std::string>& more_runtime,
                    CodeLanguage& language) {
  const std::string interpreter = find_program(where, language.run[0]);
  ChildProcess python({interpreter, "-I", "-c", kAskPython});
  const ChildProcess::Reply reply =
      python.exchange("", ChildProcess::Clock::now() + std::chrono::seconds(30));
  const Json answer =
      reply.status == ChildProcess::Status::kOk ? Json::parse(reply.text, nullptr, false) : Json();
  if (!answer.is_object()) {
    throw ConfigError(str(where, "", interpreter, " does not say which files it consists of: ", reply.text));
  }
  language.run[0] = answer.at("executable").get<std::string>();
  for (const char* key : {"paths", "packages"}) {
    for (const Json& path : answer.at(key)) language.runtime.push_back(path.get<std::string>());
  }
  language.runtime.emplace_back("/lib64");
  std::string packages;
  const auto add_packages = [&](const std::string& path) {
    packages += (packages.empty() ? "" : ":") + path;
  };
  for (const Json& path : answer.at("packages")) add_packages(path.get<std::string>());
  for (const std::string& path : more_runtime) add_packages(path);
  if (!packages.empty()) language.environment.push_back("PYTHONPATH=" + packages);
  language.environment.emplace_back("PYTHONHASHSEED=0");
}

CodeLanguage from_known(const KnownLanguage& known) {
  CodeLanguage language;
  language.tags = split(known.tags);
  language.source_name = known.source_name;
  language.compile = split(known.compile);
  language.run = split(known.run);
  language.smallest_program = known.smallest;
  return language;
}

CodeLanguage start_from(const std::string& where, const CodeLanguageKeys& keys, const std::string& name) {
  std::vector<std::string> names;
  for (const KnownLanguage& known : kLanguages) {
    if (name == known.name) return from_known(known);
    names.emplace_back(known.name);
  }
  if (keys.command.empty()) {
    throw ConfigError(str(where, "language \"", name, "\" needs `command`, the line that runs ",
                          "{source}; did you mean \"", nearest_name(name, names), "\"?"));
  }
  CodeLanguage language;
  language.tags = {name};
  language.source_name = "program." + name;
  return language;
}

void require_file(const std::string& where, const char* key, const std::vector<std::string>& words,
                  const char* file) {
  const auto has_file = [&](const std::string& word) { return word.find(file) != std::string::npos; };
  if (std::any_of(words.begin(), words.end(), has_file)) return;
  throw ConfigError(
      str(where, "`", key, "` does not say where ", file, ", the file that it is about, stands; add it"));
}

void check_commands(const std::string& where, const CodeLanguage& language) {
  if (language.compile.empty()) {
    require_file(where, "command", language.run, "{source}");
  } else {
    require_file(where, "compile", language.compile, "{source}");
    require_file(where, "compile", language.compile, "{program}");
    require_file(where, "command", language.run, "{program}");
  }
}

}  // namespace

CodeLanguage find_language(const std::string& where, const CodeLanguageKeys& keys) {
  const std::string wanted = keys.language.empty() ? "python" : keys.language;
  CodeLanguage language = start_from(where, keys, wanted);
  if (!keys.command.empty()) language.run = words_of(keys.command);
  if (!keys.compile.empty()) language.compile = split(keys.compile);
  check_commands(where, language);
  const std::vector<std::string> more_runtime = read_runtime(where, keys.runtime);
  language.environment = {"PATH=/usr/local/bin:/usr/bin:/bin", str("HOME=", kWorkFolder),
                          str("TMPDIR=", kWorkFolder), "LANG=C.UTF-8", "MALLOC_ARENA_MAX=2"};
  if (wanted == "python") {
    language.is_python = true;
    resolve_python(where, more_runtime, language);
  } else {
    language.run[0] = find_program(where, language.run[0]);
    language.runtime.assign(std::begin(kUsualRuntime), std::end(kUsualRuntime));
  }
  if (!language.compile.empty()) language.compile[0] = find_program(where, language.compile[0]);
  language.runtime.insert(language.runtime.end(), more_runtime.begin(), more_runtime.end());
  return language;
}

std::vector<std::string> with_files(std::vector<std::string> command, const std::string& source,
                                    const std::string& program) {
  for (std::string& word : command) {
    for (const auto& [name, path] : {std::pair("{source}", source), std::pair("{program}", program)}) {
      for (size_t found; (found = word.find(name)) != std::string::npos;)
        word.replace(found, std::string_view(name).size(), path);
    }
  }
  return command;
}

}  // namespace cohort
