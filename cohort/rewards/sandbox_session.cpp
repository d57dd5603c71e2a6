#include "cohort/rewards/sandbox_session.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "libs/common/str.h"

namespace cohort {
namespace {

using Status = SandboxSession::Status;
using Clock = SandboxSession::Clock;

constexpr int kMaxAttempts = 3;
constexpr size_t kMaxLineBytes = 256;  // of an answer
constexpr auto kTimeToStart = std::chrono::seconds(30), kTimeToEnd = std::chrono::seconds(10);

/// Reads once from `file`, which does not block; false at its end.
bool read_some(const OpenFile& file, std::string& text) {
  char buffer[65536];
  const ssize_t count = read(file.number(), buffer, sizeof(buffer));
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  text.append(buffer, static_cast<size_t>(count));
  return count > 0;
}

}  // namespace

SandboxSession::SandboxSession(SandboxSessions& sessions, std::unique_ptr<SandboxProcess> process,
                               SandboxLimits limits, OpenFile channel, OpenFile output)
    : sessions_(sessions),
      process_(std::move(process)),
      limits_(limits),
      channel_(std::move(channel)),
      output_(std::move(output)) {}

// Not by closing alone: a process that was forked from ours may hold the socket, too.
void SandboxSession::hang_up() {
  if (channel_.number() >= 0) shutdown(channel_.number(), SHUT_RDWR);
}

SandboxSession::~SandboxSession() {
  hang_up();
  channel_.close();
  output_.close();
  if (process_ == nullptr) return;
  if (has_ended_ || process_->wait(Clock::now() + kTimeToEnd)) {
    sessions_.give_back(std::move(process_));
  } else {
    process_->kill();
  }
}

SandboxSession::Answer SandboxSession::exchange(const std::string& request, Clock::time_point deadline) {
  read_line();
  if (!line_.empty()) return {Status::kBroken, "", ""};
  return wait_for_answer({request.c_str(), request.size() + 1}, deadline);
}

SandboxSession::Answer SandboxSession::wait_for_answer(std::string_view unsent, Clock::time_point deadline) {
  printed_.clear();
  while (true) {
    if (!wait(!unsent.empty(), deadline)) return {Status::kTimeout, "", ""};
    send_some(unsent);
    if (!read_output()) return {Status::kOutputLimit, "", std::move(printed_)};
    read_line();
    if (const size_t end = line_.find('\n'); end != std::string::npos) {
      if (!unsent.empty() || end + 1 != line_.size()) return {Status::kBroken, "", std::move(printed_)};
      // What was printed before the answer is in the pipe by now.
      if (!read_output()) return {Status::kOutputLimit, "", std::move(printed_)};
      line_.pop_back();
      return {Status::kOk, std::exchange(line_, ""), std::move(printed_)};
    }
    if (line_.size() > kMaxLineBytes) return {Status::kBroken, "", std::move(printed_)};
    if (std::optional<Answer> last = read_outcome()) return *std::move(last);
  }
}

/// Until something has happened; false when the deadline has passed.
bool SandboxSession::wait(bool wants_to_send, Clock::time_point deadline) {
  const auto rest = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  if (rest <= 0) return false;
  const auto events = static_cast<short>(POLLIN | (wants_to_send ? POLLOUT : 0));
  pollfd files[] = {
      {channel_.number(), events, 0}, {output_.number(), POLLIN, 0}, {process_->file(), POLLIN, 0}};
  poll(files, std::size(files), static_cast<int>(std::min<int64_t>(rest, 1 << 30)));
  return true;
}

void SandboxSession::send_some(std::string_view& unsent) {
  if (unsent.empty() || channel_.number() < 0) return;
  const ssize_t count = send(channel_.number(), unsent.data(), unsent.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count > 0) unsent.remove_prefix(static_cast<size_t>(count));
}

/// A file at its end is closed: how the job ended comes from its launcher.
void SandboxSession::read_line() {
  if (channel_.number() >= 0 && !read_some(channel_, line_)) channel_.close();
}

/// Reads all that is there; false when it is more than the job may print.
bool SandboxSession::read_output() {
  for (size_t before = printed_.size() + 1; output_.number() >= 0 && before != printed_.size();) {
    before = printed_.size();
    if (!read_some(output_, printed_)) output_.close();
    if (printed_.size() > static_cast<size_t>(limits_.output_bytes)) return false;
  }
  return true;
}

std::optional<SandboxSession::Answer> SandboxSession::read_outcome() {
  std::string message;
  const SandboxProcess::Status status = process_->receive(message);
  if (status == SandboxProcess::Status::kWaiting) return std::nullopt;
  std::optional<SandboxOutcome> outcome;
  if (status == SandboxProcess::Status::kComplete) outcome = decode_outcome(message);
  if (!outcome) {
    process_->kill();
    process_.reset();
    return Answer{Status::kFailure, "the sandbox's worker died", ""};
  }
  has_ended_ = true;
  read_output();
  if (outcome->cause == SandboxCause::kFailure) return Answer{Status::kFailure, outcome->failure, ""};
  const std::string fault = find_end_fault(*outcome, limits_);
  return Answer{Status::kEnded, fault.empty() ? "exit status 0" : fault, std::move(printed_)};
}

SandboxSessions::SandboxSessions(SandboxOptions options) : starter_(std::move(options)) {
  idle_.push_back(starter_.start_first());
}

std::unique_ptr<SandboxSession> SandboxSessions::start(SandboxJob job, std::string& failure) {
  job.is_session = true;
  for (int i = 0; i < kMaxAttempts; ++i) {
    try {
      if (auto session = try_start(job, failure)) return session;
    } catch (const std::exception& error) {
      failure = error.what();
    }
  }
  return nullptr;
}

std::unique_ptr<SandboxSession> SandboxSessions::try_start(const SandboxJob& job, std::string& failure) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw std::system_error(errno, std::generic_category(), "socketpair");
  OpenFile ours(ends[0]), theirs(ends[1]);
  Pipe output;
  fcntl(ours.number(), F_SETFL, O_NONBLOCK);
  fcntl(output.read_end.number(), F_SETFL, O_NONBLOCK);
  std::unique_ptr<SandboxProcess> process = take();
  if (!process->send(encode(job), {theirs.number(), output.write_end.number()})) {
    process->kill();
    failure = "the sandbox's worker is gone";
    return nullptr;
  }
  theirs.close();
  output.write_end.close();
  std::unique_ptr<SandboxSession> session(
      new SandboxSession(*this, std::move(process), job.limits, std::move(ours), std::move(output.read_end)));
  const SandboxSession::Answer ready = session->wait_for_answer("", Clock::now() + kTimeToStart);
  if (ready.status == Status::kOk && ready.line == "ready") return session;
  failure = str("the session's program does not start: ", ready.line, ready.output);
  return nullptr;
}

std::unique_ptr<SandboxProcess> SandboxSessions::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<SandboxProcess> process = std::move(idle_.back());
      idle_.pop_back();
      return process;
    }
  }
  return starter_.start();
}

void SandboxSessions::give_back(std::unique_ptr<SandboxProcess> process) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(process));
}

}  // namespace cohort
