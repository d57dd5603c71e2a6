// Signs of life of the processes of a group, in the store that all of them reach.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace cohort::dist {

/// What the watch needs of a store. A call throws, or never returns, if the store can't be reached.
class SignStore {
 public:
  virtual ~SignStore() = default;

  virtual void set(const std::string& key, const std::string& value) = 0;

  /// Nothing if no process has set the key.
  virtual std::optional<std::string> get(const std::string& key) = 0;

  /// Who holds it, as an error names it.
  virtual std::string holder() const = 0;
};

/// As the network knows it.
std::string machine_name();

struct WatchTimes {
  std::chrono::milliseconds beat{1000};        ///< between two signs
  std::chrono::milliseconds silence{20'000};   ///< without a sign of a process, after which it is lost
  std::chrono::milliseconds suspicion{4'000};  ///< the same, once a call has failed
};

/// Writes a sign of this process at every beat and looks for that of the next rank: in a ring every process
/// is looked after. The first one that misses another says so in the store, for all.
class Watch {
 public:
  /// `on_lost` is called with a sentence that names the process that was lost, once, on a thread of the
  /// watch; it is not called after `find_lost`.
  Watch(std::unique_ptr<SignStore> store, int64_t rank, int64_t size, WatchTimes times,
        std::function<void(const std::string&)> on_lost);

  /// Says that this process ends as it should, or, after `say_error`, by an error.
  ~Watch();

  /// What this process does, for those who miss it.
  void set_doing(const std::string& what);

  /// After a call that failed: waits until it is known which process is lost, but not for long. A sentence
  /// that names it; nothing if none is.
  std::optional<std::string> find_lost();

  void say_error();

  /// From now on the end of others is no loss.
  void expect_end();

 private:
  struct State;

  std::shared_ptr<State> state_;  // a thread that waits for a store in vain keeps it
  std::thread signs_, guard_;
};

}  // namespace cohort::dist
