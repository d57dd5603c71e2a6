#include "cohort/dist/group.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/dist/watch.h"

namespace cohort::dist {
namespace {

using Milliseconds = std::chrono::milliseconds;

/// A wait for others may be as long as their work; the watch tells when one of them is lost.
constexpr Milliseconds kLongestCall = std::chrono::hours(24 * 10);

Milliseconds milliseconds(double seconds) { return Milliseconds(static_cast<int64_t>(1000.0 * seconds)); }

std::string holder_of(const Place& place) {
  const std::string at = str(" at ", place.address, ":", place.port);
  return place.launcher_has_store ? place.launcher + "'s agent" + at : "rank 0" + at;
}

/// The first line of an error of c10d's or Gloo's.
std::string text_of(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  const std::string text = torch_error != nullptr ? torch_error->what_without_backtrace() : error.what();
  return text.substr(0, text.find('\n'));
}

/// The network that the processes talk over.
std::shared_ptr<gloo::transport::Device> network(const Place& place) {
  if (const char* interface = std::getenv("GLOO_SOCKET_IFNAME"); interface != nullptr && *interface != '\0')
    return c10d::ProcessGroupGloo::createDeviceForInterface(interface);
  if (place.address == "localhost" || place.address.starts_with("127."))
    return c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1");
  return c10d::ProcessGroupGloo::createDefaultDevice();
}

/// c10d and Gloo write to connections whose other end may be gone, also in threads of their own. By default
/// the signal of such a write ends this process before it can say which one it has lost.
void ignore_sigpipe() {
  struct sigaction action{};
  sigaction(SIGPIPE, nullptr, &action);
  if (action.sa_handler == SIG_DFL) signal(SIGPIPE, SIG_IGN);
}

/// A connection to the store of the job, for one thread.
c10::intrusive_ptr<c10d::Store> connect(const Place& place, Milliseconds timeout, bool may_serve) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(place.port);
  options.isServer = may_serve && place.rank == 0 && !place.launcher_has_store;
  options.numWorkers = place.size;
  options.waitWorkers = false;
  options.multiTenant = true;  // a program that starts torch.distributed, too, meets at the same port
  options.timeout = timeout;
  auto store = c10::make_intrusive<c10d::TCPStore>(place.address, options);
  // A restarted job meets the keys of the one before in the store of its launcher.
  return c10::make_intrusive<c10d::PrefixStore>("cohort/" + place.attempt, store);
}

class TcpSignStore : public SignStore {
 public:
  TcpSignStore(c10::intrusive_ptr<c10d::Store> store, std::string holder)
      : store_(std::move(store)), holder_(std::move(holder)) {}

  void set(const std::string& key, const std::string& value) override { store_->set(key, value); }

  std::optional<std::string> get(const std::string& key) override {
    if (!store_->check({key})) return std::nullopt;
    return store_->get_to_str(key);
  }

  std::string holder() const override { return holder_; }

 private:
  c10::intrusive_ptr<c10d::Store> store_;
  std::string holder_;
};

/// Ranks that have not come to the store, as a list.
std::string missing_ranks(c10d::Store& store, int64_t size) {
  std::string names;
  int64_t count = 0;
  for (int64_t rank = 0; rank < size; ++rank) {
    if (store.check({str("here/", rank)})) continue;
    if (++count <= 8) names += str(names.empty() ? "" : ", ", rank);
  }
  return count > 8 ? str(names, " and ", count - 8, " more") : names;
}

/// Waits for all processes at the store. Returns how many of them are on this machine.
int64_t meet(c10d::Store& store, const Place& place, double patience_s) {
  const std::string machine = machine_name();
  store.set(str("here/", place.rank), machine);
  const auto deadline = std::chrono::steady_clock::now() + milliseconds(patience_s);
  std::vector<std::string> keys;
  for (int64_t rank = 0; rank < place.size; ++rank) keys.push_back(str("here/", rank));
  while (!store.check(keys)) {
    if (std::chrono::steady_clock::now() > deadline) {
      throw ConfigError(str("of ", place.size, " processes these have not come within ", patience_s,
                            " s: rank ", missing_ranks(store, place.size), "; rank ", place.rank,
                            " waited at ", place.address, ":", place.port));
    }
    std::this_thread::sleep_for(Milliseconds(20));
  }
  return std::ranges::count_if(keys,
                               [&](const std::string& key) { return store.get_to_str(key) == machine; });
}

}  // namespace

class Group::Link {
 public:
  Link(const Place& place, Patience patience) {
    ignore_sigpipe();
    try {
      auto options = c10d::ProcessGroupGloo::Options::create(milliseconds(patience.to_meet_s));
      options->devices.push_back(network(place));
      store_ = connect(place, milliseconds(patience.to_meet_s), /*may_serve=*/true);
      num_local_ = meet(*store_, place, patience.to_meet_s);
      auto signs = std::make_unique<TcpSignStore>(
          connect(place, milliseconds(patience.silence_s), /*may_serve=*/false), holder_of(place));
      const WatchTimes times{.silence = milliseconds(patience.silence_s),
                             .suspicion = milliseconds(patience.silence_s / 5.0)};
      until_all_know_ = times.suspicion + 2 * times.beat;
      watch_ =
          std::make_unique<Watch>(std::move(signs), place.rank, place.size, times, [](const auto& sentence) {
            write_log_line("cohort: ", sentence);
            std::_Exit(kRankLostExitCode);
          });
      // The watch sees, too, when a process is lost before they are joined.
      gloo_ = c10::make_intrusive<c10d::ProcessGroupGloo>(
          c10::make_intrusive<c10d::PrefixStore>("gloo", store_), static_cast<int>(place.rank),
          static_cast<int>(place.size), std::move(options));
      gloo_->setTimeout(kLongestCall);
    } catch (const UserError&) {
      throw;
    } catch (const std::exception& error) {
      const bool serves = place.rank == 0 && !place.launcher_has_store;
      throw ConfigError(str("rank ", place.rank, " of ", place.size,
                            serves ? " can't serve the others at " : " can't join the others at ",
                            place.address, ":", place.port, ": ", text_of(error),
                            " (MASTER_ADDR, MASTER_PORT and GLOO_SOCKET_IFNAME choose another place)"));
    }
  }

  /// Runs a call that the others take part in.
  template <typename Call>
  void run(const char* what, Call call) {
    watch_->set_doing(what);
    try {
      call(*gloo_)->wait();
    } catch (const std::exception& error) {
      const auto lost = watch_->find_lost();
      throw RankLost(str(lost.value_or("the processes have lost touch (" + text_of(error) + ")"),
                         ", while rank ", gloo_->getRank(), " is at ", what));
    }
    watch_->set_doing(str("after ", what));
  }

  /// Waits for the others, so that nobody misses the store of rank 0.
  void leave() {
    watch_->expect_end();
    try {
      gloo_->barrier()->wait(std::chrono::minutes(1));
    } catch (const std::exception&) {  // another one ends by an error
    }
  }

  int64_t num_local() const { return num_local_; }

  void leave_by_error(bool holds_store) {
    watch_->say_error();
    watch_.reset();
    gloo_.reset();
    if (holds_store) std::this_thread::sleep_for(until_all_know_);
  }

 private:
  int64_t num_local_ = 1;
  Milliseconds until_all_know_{};  // that this process ended by an error
  c10::intrusive_ptr<c10d::Store> store_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo_;
  std::unique_ptr<Watch> watch_;
};

Group::Group() = default;

Group::Group(const Place& place, Patience patience) : rank_(place.rank), size_(place.size) {
  if (size_ == 1) return;
  link_ = std::make_unique<Link>(place, patience);
  num_local_ = link_->num_local();
}

Group::Group(Group&&) noexcept = default;

Group::~Group() { leave(std::uncaught_exceptions() > 0); }

void Group::leave(bool by_error) {
  if (link_ == nullptr) return;
  if (by_error) {
    link_->leave_by_error(is_first());
  } else {
    link_->leave();
  }
  link_.reset();
}

Group::Link& Group::link(const char* what) {
  if (link_ != nullptr) return *link_;
  throw RankLost(
      str("rank ", rank_, " is at ", what,
          ", but has left the other processes, at its end or after an error: start the job again"));
}

at::Tensor Group::all_gather(const at::Tensor& row, const char* what) {
  at::Tensor rows = row.unsqueeze(0).contiguous();
  if (size_ == 1) return rows;
  at::Tensor all = at::empty({size_, row.numel()}, row.options());
  num_sent_bytes_ += (size_ - 1) * static_cast<int64_t>(row.nbytes());
  link(what).run(what, [&](c10d::ProcessGroupGloo& gloo) { return gloo._allgather_base(all, rows); });
  return all;
}

std::vector<std::string> Group::all_gather(std::string own, const char* what) {
  if (size_ == 1) return {std::move(own)};
  const at::Tensor lengths =
      all_gather(at::scalar_tensor(static_cast<int64_t>(own.size()), at::kLong).unsqueeze(0), what).flatten();
  const auto longest = std::max<int64_t>(lengths.max().item<int64_t>(), 1);
  own.resize(longest);
  const at::Tensor bytes = all_gather(at::from_blob(own.data(), {longest}, at::kByte), what);
  std::vector<std::string> all;
  for (int64_t rank = 0; rank < size_; ++rank) {
    const auto* begin = reinterpret_cast<const char*>(bytes.const_data_ptr<uint8_t>()) + rank * longest;
    all.emplace_back(begin, lengths[rank].item<int64_t>());
  }
  return all;
}

bool Group::all_true(bool own, const char* what) {
  if (size_ == 1) return own;
  return all_gather(at::full({1}, own ? 1 : 0, at::kByte), what).all().item<bool>();
}

std::string Group::broadcast(std::string own, const char* what) {
  if (size_ == 1) return own;
  std::vector<at::Tensor> length{at::full({1}, static_cast<int64_t>(own.size()), at::kLong)};
  link(what).run(what, [&](c10d::ProcessGroupGloo& gloo) { return gloo.broadcast(length); });
  own.resize(length[0].item<int64_t>());
  if (own.empty()) return own;
  std::vector<at::Tensor> bytes{at::from_blob(own.data(), {static_cast<int64_t>(own.size())}, at::kByte)};
  if (is_first()) num_sent_bytes_ += static_cast<int64_t>(own.size());
  link(what).run(what, [&](c10d::ProcessGroupGloo& gloo) { return gloo.broadcast(bytes); });
  return own;
}

at::Tensor Group::exchange(const at::Tensor& rows, const char* what) {
  COHORT_CHECK(rows.dim() == 2 && rows.size(0) == size_ && rows.is_contiguous());
  if (size_ == 1) return rows;
  at::Tensor received = at::empty_like(rows), sent = rows;
  std::vector<int64_t> one_row_each;
  num_sent_bytes_ += (size_ - 1) * rows.size(1) * rows.element_size();
  link(what).run(what, [&](c10d::ProcessGroupGloo& gloo) {
    return gloo.alltoall_base(received, sent, one_row_each, one_row_each);
  });
  return received;
}

void Group::barrier(const char* what) { all_true(true, what); }

Group& alone() {
  static Group one;
  return one;
}

}  // namespace cohort::dist
