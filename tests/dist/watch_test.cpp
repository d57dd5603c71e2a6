// Which process is missed, and who says so.
#include "cohort/dist/watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <map>
#include <mutex>
#include <stdexcept>

namespace cohort::dist {
namespace {

/// A store in memory, which may break or stop.
struct Shelf {
  std::mutex mutex;
  std::map<std::string, std::string> values;
  std::atomic<bool> is_broken = false;
  std::promise<void> never;
  std::shared_future<void> end = never.get_future().share();
  std::atomic<bool> is_stopped = false;
};

class ShelfStore : public SignStore {
 public:
  explicit ShelfStore(std::shared_ptr<Shelf> shelf) : shelf_(std::move(shelf)) {}

  void set(const std::string& key, const std::string& value) override {
    pass();
    const std::lock_guard lock(shelf_->mutex);
    shelf_->values[key] = value;
  }

  std::optional<std::string> get(const std::string& key) override {
    pass();
    const std::lock_guard lock(shelf_->mutex);
    const auto found = shelf_->values.find(key);
    return found == shelf_->values.end() ? std::nullopt : std::optional(found->second);
  }

  std::string holder() const override { return "rank 0, which holds the store,"; }

 private:
  void pass() const {
    if (shelf_->is_broken) throw std::runtime_error("connection closed");
    if (shelf_->is_stopped) shelf_->end.wait();
  }

  std::shared_ptr<Shelf> shelf_;
};

using namespace std::chrono_literals;

constexpr WatchTimes kTimes{.beat = 10ms, .silence = 2000ms, .suspicion = 300ms};

class WatchTest : public testing::Test {
 protected:
  ~WatchTest() override { shelf_->never.set_value(); }

  /// A watch of rank `rank` of three, and what it calls lost.
  std::unique_ptr<Watch> watch(int64_t rank) {
    return std::make_unique<Watch>(std::make_unique<ShelfStore>(shelf_), rank, 3, kTimes,
                                   [this, rank](const std::string& sentence) {
                                     const std::lock_guard lock(mutex_);
                                     lost_[rank] = sentence;
                                   });
  }

  /// What the watch of a rank called lost within ten seconds.
  std::string lost_of(int64_t rank) {
    for (int i = 0; i < 1000; ++i) {
      {
        const std::lock_guard lock(mutex_);
        if (lost_.contains(rank)) return lost_[rank];
      }
      std::this_thread::sleep_for(10ms);
    }
    return "";
  }

  bool has_lost() {
    const std::lock_guard lock(mutex_);
    return !lost_.empty();
  }

  std::shared_ptr<Shelf> shelf_ = std::make_shared<Shelf>();
  std::mutex mutex_;
  std::map<int64_t, std::string> lost_;
};

TEST_F(WatchTest, NobodyIsMissedWhileAllGiveSigns) {
  {
    const auto first = watch(0), second = watch(1), third = watch(2);
    std::this_thread::sleep_for(2500ms);
    EXPECT_FALSE(has_lost());
  }
  EXPECT_FALSE(has_lost());
  EXPECT_EQ(shelf_->values["sign/1"], "ended");
}

TEST_F(WatchTest, WhoeverIsMissingIsNamedToAll) {
  const auto first = watch(0), second = watch(1);
  second->set_doing("the rewards of step 3");
  const std::string sign = "7\tnode5, process 42\tthe rewards of step 3";
  ShelfStore(shelf_).set("sign/2", sign);  // and then nothing more
  const std::string expected = "rank 2 (node5, process 42) has given no sign for 2 s (at ";
  EXPECT_TRUE(lost_of(1).starts_with(expected)) << lost_of(1);
  EXPECT_TRUE(lost_of(1).ends_with("its last one was: the rewards of step 3"));
  EXPECT_EQ(lost_of(0), lost_of(1));
}

TEST_F(WatchTest, AnErrorOfAnotherIsNamed) {
  auto first = watch(0), second = watch(1), third = watch(2);
  third->say_error();
  third.reset();
  EXPECT_TRUE(lost_of(1).starts_with("rank 2")) << lost_of(1);
  EXPECT_TRUE(lost_of(1).ends_with("has ended by an error, which its own output tells"));
  EXPECT_EQ(lost_of(0), lost_of(1));
}

TEST_F(WatchTest, ACallThatFailedAsksForTheNameInstead) {
  const auto first = watch(0), second = watch(1);
  ShelfStore(shelf_).set("sign/2", "7\tnode5, process 42\tnothing");
  EXPECT_TRUE(second->find_lost().value_or("").starts_with("rank 2 (node5, process 42) has given no sign"));
  EXPECT_TRUE(lost_of(0).starts_with("rank 2 (node5, process 42)"));
  const std::lock_guard lock(mutex_);
  EXPECT_FALSE(lost_.contains(1));
}

TEST_F(WatchTest, AStoreThatBreaksIsNamed) {
  const auto second = watch(1);
  shelf_->is_broken = true;
  EXPECT_EQ(lost_of(1), "rank 0, which holds the store, does not answer");
}

TEST_F(WatchTest, AStoreThatStopsIsNamed) {
  const auto second = watch(1);
  shelf_->is_stopped = true;
  EXPECT_EQ(lost_of(1), "rank 0, which holds the store, has not answered for 2 s");
}

}  // namespace
}  // namespace cohort::dist
