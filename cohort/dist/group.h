// The processes that train together, over torch's c10d (Gloo). In a group of one, every function returns its
// argument at once.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cohort/dist/place.h"

namespace cohort::dist {

/// Another process of the group has ended or gives no sign. `what` names it. This process can't go on; a new
/// start continues from the newest checkpoint.
class RankLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The exit code of a process that ends because another one was lost (EX_TEMPFAIL: a new start may succeed).
constexpr int kRankLostExitCode = 75;

struct Patience {
  double to_meet_s = 300.0;  ///< for all processes to appear
  double silence_s = 20.0;   ///< without a sign of a process, after which it is lost
};

/// All processes call the same functions in the same order; `what` names a call for the others, such as
/// "the rewards of step 3". Every function throws RankLost. A process that hears nothing of another one while
/// it works by itself ends with kRankLostExitCode and a line that names it.
class Group {
 public:
  /// Of one process.
  Group();

  /// Waits until all processes are there. Throws ConfigError naming those that are not. This process ignores
  /// SIGPIPE from here on, where nothing else handles it.
  explicit Group(const Place& place, Patience patience = {});

  /// Leaves, by an error while an exception ends its scope.
  ~Group();

  Group(Group&&) noexcept;
  Group& operator=(Group&&) = delete;

  int64_t rank() const { return rank_; }
  int64_t size() const { return size_; }

  /// Processes of the group on this machine.
  int64_t num_local() const { return num_local_; }

  /// Whether this is the process that writes files.
  bool is_first() const { return rank_ == 0; }

  /// [size] the bytes of each process.
  std::vector<std::string> all_gather(std::string own, const char* what);

  /// Whether all processes say so.
  bool all_true(bool own, const char* what);

  /// The bytes of rank 0.
  std::string broadcast(std::string own, const char* what);

  /// [size, n] row r of `rows` [size, n] goes to rank r; the result's row r came from rank r. Of any dtype,
  /// on the CPU.
  at::Tensor exchange(const at::Tensor& rows, const char* what);

  /// [size, n] the rows of all processes, of which each has one, [n].
  at::Tensor all_gather(const at::Tensor& row, const char* what);

  /// Returns once all processes have called it.
  void barrier(const char* what);

  /// Ends this process's part, and tells the others if an error is the reason. Calls after that throw
  /// RankLost.
  void leave(bool by_error);

  /// Bytes that this process has sent to others, of the values alone.
  int64_t num_sent_bytes() const { return num_sent_bytes_; }

 private:
  class Link;

  Link& link(const char* what);

  int64_t rank_ = 0, size_ = 1, num_local_ = 1;
  int64_t num_sent_bytes_ = 0;
  std::unique_ptr<Link> link_;  // null: a group of one, or left
};

/// A group of one.
Group& alone();

}  // namespace cohort::dist
