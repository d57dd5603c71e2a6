#include "cohort/dist/watch.h"

#include <unistd.h>

#include <condition_variable>
#include <mutex>

#include "cohort/core/time_text.h"
#include "libs/common/str.h"

namespace cohort::dist {
namespace {

using Clock = std::chrono::steady_clock;

constexpr char kLostKey[] = "lost";
constexpr char kEnded[] = "ended", kError[] = "error";

int64_t seconds_of(Clock::duration time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time).count();
}

}  // namespace

std::string machine_name() {
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  return name;
}

struct Watch::State {
  std::unique_ptr<SignStore> store;  // of the thread of signs
  int64_t rank, size;
  WatchTimes times;
  std::function<void(const std::string&)> on_lost;

  std::mutex mutex;  // of all below
  std::condition_variable changed;
  std::string doing = "nothing yet";
  bool is_ending = false, has_error = false, is_asked = false, is_leaving = false, has_ended = false;
  std::optional<std::string> lost;
  Clock::time_point last_beat = Clock::now();

  // Of the thread of signs.
  int64_t num_beats = 0;
  std::string next_sign;                        // of the next rank
  Clock::time_point last_heard = Clock::now();  // when it changed
  std::string name_of_next;

  std::string sign_key(int64_t of) const { return str("sign/", of); }

  void tell_signs();
  void watch_signs();
  void beat();
  std::optional<std::string> find_missing(bool is_suspicious);
  void note_lost(const std::string& sentence);
};

/// The thread of signs.
void Watch::State::tell_signs() {
  std::unique_lock lock(mutex);
  while (!is_ending && !lost) {
    const Clock::time_point now = Clock::now();
    // A process that was stopped itself must not think that it was the others.
    if (now - last_beat > times.silence / 2) last_heard = now;
    last_beat = now;
    const bool is_suspicious = is_asked;
    std::string sign = str(++num_beats, "\t", machine_name(), ", process ", getpid(), "\t", doing);
    lock.unlock();
    std::optional<std::string> found;
    try {
      store->set(sign_key(rank), sign);
      found = store->get(kLostKey);
      if (!found && (found = find_missing(is_suspicious))) store->set(kLostKey, *found);
    } catch (const std::exception&) {
      found = str(store->holder(), " does not answer");
    }
    if (found) note_lost(*found);
    lock.lock();
    if (!lost) changed.wait_for(lock, is_asked ? times.beat / 4 : times.beat, [&] { return is_ending; });
  }
  const bool says_end = !lost;
  const char* how = has_error ? kError : kEnded;
  lock.unlock();
  try {
    if (says_end) store->set(sign_key(rank), how);
  } catch (const std::exception&) {  // nobody is left who asks
  }
  lock.lock();
  has_ended = true;
  changed.notify_all();
}

/// The thread that sees the other one wait in vain.
void Watch::State::watch_signs() {
  std::unique_lock lock(mutex);
  while (!has_ended && !lost) {
    changed.wait_for(lock, times.beat / 2, [&] { return has_ended || lost; });
    if (is_ending || Clock::now() - last_beat < times.silence) continue;
    lock.unlock();
    note_lost(str(store->holder(), " has not answered for ", seconds_of(times.silence), " s"));
    lock.lock();
  }
}

std::optional<std::string> Watch::State::find_missing(bool is_suspicious) {
  const int64_t next = (rank + 1) % size;
  const std::optional<std::string> sign = store->get(sign_key(next));
  const Clock::time_point now = Clock::now();
  if (sign == kEnded) return std::nullopt;
  if (sign && *sign != next_sign) {
    next_sign = *sign;
    last_heard = now;
    const size_t name = next_sign.find('\t');
    if (name != std::string::npos)
      name_of_next = " (" + next_sign.substr(name + 1, next_sign.rfind('\t') - name - 1) + ")";
    if (sign != kError) return std::nullopt;
  }
  const Clock::duration silent = now - last_heard;
  if (sign == kError) {
    // The same error is on its way here, perhaps: then this process says it itself.
    if (!is_suspicious && silent < times.suspicion) return std::nullopt;
    return str("rank ", next, name_of_next, " has ended by an error, which its own output tells");
  }
  if (silent < (is_suspicious ? times.suspicion : times.silence)) return std::nullopt;
  const std::string its_doing = next_sign.empty() ? "" : next_sign.substr(next_sign.rfind('\t') + 1);
  return str("rank ", next, name_of_next, " has given no sign for ", seconds_of(silent), " s (at ",
             to_time_text(present_time()), "); its last one was: ", its_doing);
}

void Watch::State::note_lost(const std::string& sentence) {
  bool calls = false;
  {
    const std::lock_guard lock(mutex);
    if (lost) return;
    lost = sentence;
    calls = !is_asked && !is_ending && !is_leaving;
  }
  changed.notify_all();
  if (calls) on_lost(sentence);
}

Watch::Watch(std::unique_ptr<SignStore> store, int64_t rank, int64_t size, WatchTimes times,
             std::function<void(const std::string&)> on_lost)
    : state_(std::make_shared<State>()) {
  state_->store = std::move(store);
  state_->rank = rank;
  state_->size = size;
  state_->times = times;
  state_->on_lost = std::move(on_lost);
  signs_ = std::thread([state = state_] { state->tell_signs(); });
  guard_ = std::thread([state = state_] { state->watch_signs(); });
}

Watch::~Watch() {
  bool has_ended = false;
  {
    std::unique_lock lock(state_->mutex);
    state_->is_ending = true;
    state_->changed.notify_all();
    has_ended = state_->changed.wait_for(lock, std::chrono::seconds(2), [&] { return state_->has_ended; });
    state_->has_ended = true;  // ends the guard
    state_->changed.notify_all();
  }
  guard_.join();
  if (has_ended) {
    signs_.join();
  } else {
    signs_.detach();  // it waits for a store in vain
  }
}

void Watch::set_doing(const std::string& what) {
  const std::lock_guard lock(state_->mutex);
  state_->doing = what;
}

void Watch::say_error() {
  const std::lock_guard lock(state_->mutex);
  state_->has_error = true;
}

void Watch::expect_end() {
  const std::lock_guard lock(state_->mutex);
  state_->is_leaving = true;
}

std::optional<std::string> Watch::find_lost() {
  std::unique_lock lock(state_->mutex);
  state_->is_asked = true;
  state_->changed.notify_all();
  state_->changed.wait_for(lock, state_->times.silence + 2 * state_->times.suspicion,
                           [&] { return state_->lost.has_value(); });
  return state_->lost;
}

}  // namespace cohort::dist
