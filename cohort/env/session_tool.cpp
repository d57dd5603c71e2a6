#include "cohort/env/session_tool.h"

#include <map>

#include "cohort/core/error.h"
#include "cohort/env/session_drivers.h"
#include "cohort/env/tool_config.h"
#include "cohort/rewards/code_keys.h"
#include "cohort/rewards/code_language.h"
#include "cohort/rewards/sandbox_session.h"
#include "libs/common/utf8.h"

namespace cohort {
namespace {

constexpr int64_t kDefaultMemoryMb = 256, kDefaultOutputLength = 4096;
constexpr int64_t kLongestSessionMs = int64_t{24} * 3600 * 1000;
// If only the memory of each process is bounded, few may run.
constexpr int64_t kUnboundedProcesses = 8;

/// What tells the two tools apart.
struct SessionKind {
  const char* language;
  const char* name;
  const char* description;
  const char* argument;
  const char* argument_description;
  const char* driver_name;
  const char* driver;
};

constexpr SessionKind kPythonKind{
    "python",
    "python",
    "Runs Python code and returns what it prints and the value of its last expression. Variables and files "
    "are kept for the next call.",
    "code",
    "The code to run.",
    "session.py",
    kPythonSession};
constexpr SessionKind kBashKind{
    "bash",
    "bash",
    "Runs a command in a shell and returns what it prints. The working directory and files are kept for the "
    "next call.",
    "command",
    "The command to run.",
    "session.sh",
    kBashSession};

Json parameters_of(const SessionKind& kind) {
  return {
      {"type", "object"},
      {"required", {kind.argument}},
      {"additionalProperties", false},
      {"properties", {{kind.argument, {{"type", "string"}, {"description", kind.argument_description}}}}}};
}

/// The byte after the first `count` characters of well-formed `text`.
size_t end_of_characters(const std::string& text, int64_t count) {
  size_t end = 0;
  for (; count > 0 && end < text.size(); --count) next_code_point(text, end);
  return end;
}

class SessionTool : public Tool {
 public:
  SessionTool(const SessionKind& kind, const ToolConfig& config)
      : Tool(config.name.empty() ? kind.name : config.name, kind.description, parameters_of(kind)),
        kind_(kind),
        language_(find_language(str("tool ", config.type, ": "), language_keys(kind, config))),
        sessions_(options_of(config)),
        timeout_s_(config.timeout_s.value_or(kDefaultToolTimeoutS)),
        max_output_length_(config.max_output_length.value_or(kDefaultOutputLength)) {
    make_job(config);
    std::string failure;
    if (sessions_.start(job_, failure) == nullptr)
      throw ConfigError(
          str("tool ", config.type, ": ", failure, "; `runtime` must name all files that the program needs"));
  }

  ~SessionTool() override {
    for (auto& [episode, place] : places_) {
      if (place.session != nullptr) place.session->hang_up();
    }
  }

  ToolResult call(const Json& arguments, int64_t episode) override {
    const auto request = arguments.at(kind_.argument).get<std::string>();
    if (request.find('\0') != std::string::npos)
      return {str("the ", kind_.argument, " holds a NUL character"), true};
    Place& place = find_place(episode);
    std::string note;
    if (place.session == nullptr) {
      if (place.is_lost) note = "(a new session: the variables and files of earlier calls are gone)\n";
      std::string failure;
      place.session = sessions_.start(job_, failure);
      if (place.session == nullptr) throw EnvironmentFailure(str("the tool ", name(), ": ", failure));
    }
    const auto timeout = std::chrono::duration_cast<SandboxSession::Clock::duration>(
        std::chrono::duration<double>(timeout_s_));
    SandboxSession::Answer answer = place.session->exchange(request, SandboxSession::Clock::now() + timeout);
    if (language_.is_python && answer.status == SandboxSession::Status::kOk && answer.line != "done")
      answer.status = SandboxSession::Status::kBroken;
    place.is_lost = answer.status != SandboxSession::Status::kOk;
    if (place.is_lost) place.session.reset();
    return result_of(answer, note);
  }

  void end(int64_t episode) override {
    std::unique_ptr<SandboxSession> session;  // its end takes a moment: not under the lock
    const std::lock_guard lock(mutex_);
    const auto found = places_.find(episode);
    if (found == places_.end()) return;
    session = std::move(found->second.session);
    places_.erase(found);
  }

 private:
  /// Of an episode, whose calls and end come one after another.
  struct Place {
    std::unique_ptr<SandboxSession> session{};
    bool is_lost = false;  // an earlier one
  };

  static CodeLanguageKeys language_keys(const SessionKind& kind, const ToolConfig& config) {
    CodeLanguageKeys keys;
    keys.language = kind.language;
    keys.runtime = config.runtime;
    return keys;
  }

  SandboxOptions options_of(const ToolConfig& config) const {
    check_sandbox_layers(str("tool ", config.type, ": "), config.waive_layers);
    SandboxOptions options;
    options.runtime = language_.runtime;
    options.waived = config.waive_layers;
    return options;
  }

  void make_job(const ToolConfig& config) {
    job_.command = with_files(language_.run, str(kBoxFolder, "/", kind_.driver_name), "");
    job_.environment = language_.environment;
    if (!language_.is_python) job_.environment.emplace_back("PYTHONHASHSEED=0");
    job_.files = {{kind_.driver_name, kind_.driver}};
    job_.limits.wall_ms = kLongestSessionMs;
    job_.limits.memory_bytes = config.memory_mb.value_or(kDefaultMemoryMb) << 20;
    if (!sessions_.limits_memory()) job_.limits.num_processes = kUnboundedProcesses;
  }

  Place& find_place(int64_t episode) {
    const std::lock_guard lock(mutex_);
    return places_[episode];  // stays where it is when others come and go
  }

  /// An unfinished output is left out: how far it came depends on the machine's speed.
  ToolResult result_of(const SandboxSession::Answer& answer, const std::string& note) const {
    const char* const over = "; the session is over, and the next call begins a new one";
    switch (answer.status) {
      case SandboxSession::Status::kOk:
        return {note + text_of(answer), false};
      case SandboxSession::Status::kTimeout:
        return {str("no result within ", timeout_s_, " s", over), true};
      case SandboxSession::Status::kOutputLimit:
        return {str("more than ", job_.limits.output_bytes, " bytes of output", over), true};
      case SandboxSession::Status::kEnded:
        return {str(answer.line, over), true};
      case SandboxSession::Status::kBroken:
        return {str("the ", kind_.argument, " wrote to the session's own channel", over), true};
      default:
        throw EnvironmentFailure(str("the tool ", name(), ": ", answer.line));
    }
  }

  /// The driver of bash answers with an exit status, or with "exit" and the one of a shell that has ended.
  std::string text_of(const SandboxSession::Answer& answer) const {
    std::string text = shortened_output(answer.output, max_output_length_);
    if (language_.is_python || answer.line == "0") return text;
    if (!text.empty()) text += '\n';
    const bool has_ended = answer.line.starts_with("exit ");
    text += str("(exit status ", has_ended ? answer.line.substr(5) : answer.line);
    return text + (has_ended ? "; a new shell begins, with the same files)" : ")");
  }

  const SessionKind& kind_;
  CodeLanguage language_;
  SandboxSessions sessions_;
  double timeout_s_;
  int64_t max_output_length_;
  SandboxJob job_;
  std::mutex mutex_;  // guards the map
  std::map<int64_t, Place> places_;
};

}  // namespace

std::string shortened_output(std::string bytes, int64_t max_length) {
  std::string text = take_all_utf8(bytes);
  if (text.ends_with('\n')) text.pop_back();
  const int64_t length = count_code_points(text);
  if (length <= max_length) return text;
  const int64_t num_last = max_length / 2;
  const std::string first = text.substr(0, end_of_characters(text, max_length - num_last));
  const std::string last = text.substr(end_of_characters(text, length - num_last));
  return str(first, "\n... ", length - max_length, " characters are left out ...\n", last);
}

std::unique_ptr<Tool> make_session_tool(const ToolConfig& config) {
  return std::make_unique<SessionTool>(config.type == "bash" ? kBashKind : kPythonKind, config);
}

}  // namespace cohort
