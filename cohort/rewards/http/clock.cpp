#include "cohort/rewards/http/clock.h"

#include <thread>

namespace cohort {
namespace {

class MachineClock : public Clock {
 public:
  TimePoint now() override { return std::chrono::steady_clock::now(); }
  void sleep_until(TimePoint time) override { std::this_thread::sleep_until(time); }
};

}  // namespace

Clock& machine_clock() {
  static MachineClock clock;
  return clock;
}

}  // namespace cohort
