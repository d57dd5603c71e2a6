#include "cohort/rewards/worker_pool.h"

#include <system_error>
#include <thread>

#include "cohort/rewards/batch_protocol.h"
#include "libs/common/str.h"

namespace cohort {

using Clock = ChildProcess::Clock;
using Reply = ChildProcess::Reply;
using Status = ChildProcess::Status;

WorkerPool::~WorkerPool() { restart(); }

void WorkerPool::restart() {
  std::lock_guard lock(mutex_);
  for (const std::unique_ptr<ChildProcess>& copy : idle_) copy->end_input();
  idle_.clear();
  restarts_.forget();
}

Reply WorkerPool::ask(const std::string& request, const std::function<bool(const std::string&)>& is_answer) {
  Reply reply = ask_once(request, is_answer);
  if (reply.status != Status::kEnded) return reply;
  Reply second = ask_once(request, is_answer);
  if (second.status == Status::kEnded) second.text += ", twice";
  return second;
}

Reply WorkerPool::ask_once(const std::string& request,
                           const std::function<bool(const std::string&)>& is_answer) {
  std::unique_ptr<ChildProcess> copy = take_idle();
  const bool is_new = copy == nullptr;
  if (is_new) {
    if (const auto refusal = restarts_.refusal(Clock::now())) return {Status::kBroken, *refusal};
    std::this_thread::sleep_until(restarts_.next_start(Clock::now()));
    try {
      copy = std::make_unique<ChildProcess>(command_);
    } catch (const std::system_error& error) {
      restarts_.record_death(false, error.what(), Clock::now());
      return {Status::kEnded, error.what(), false};
    }
  }
  const auto timeout = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout_s_));
  Reply reply = copy->exchange(request, Clock::now() + timeout, kMaxReplyBytes);
  if (reply.status == Status::kTimeout) {
    reply.text = str("no answer within ", timeout_s_, " s");
    if (is_new) reply.text += ", the program's start included; `timeout_s` is the limit";
  } else if (reply.status != Status::kOk || !is_answer(reply.text)) {
    restarts_.record_death(reply.was_heard, reply.text, Clock::now());
  } else {
    restarts_.record_answer();
    std::lock_guard lock(mutex_);
    idle_.push_back(std::move(copy));
  }
  return reply;
}

// Copies that ended or spoke while nobody asked are left to their ends.
std::unique_ptr<ChildProcess> WorkerPool::take_idle() {
  std::vector<std::unique_ptr<ChildProcess>> unusable;
  std::lock_guard lock(mutex_);
  while (!idle_.empty()) {
    std::unique_ptr<ChildProcess> copy = std::move(idle_.back());
    idle_.pop_back();
    if (copy->is_ready()) return copy;
    unusable.push_back(std::move(copy));
  }
  return nullptr;
}

}  // namespace cohort
