// Http: a server of the user's. It gets batches of completions by POST, as batch_protocol.h writes them, and
// answers with their rewards. A batch that gets no usable reply is masked; the others stand.
#include "cohort/rewards/batch_protocol.h"
#include "cohort/rewards/http/endpoint.h"
#include "cohort/rewards/make_reward.h"

namespace cohort {
namespace {

struct HttpKeys {
  EndpointKeys endpoint;
  std::optional<int64_t> batch_size;
  std::optional<int64_t> workers;

  void describe(FieldVisitor& f) {
    f("url", endpoint.url, "The address that batches are posted to. Redirects are not followed.",
      OnResume::kTaken);
    f("batch_size", batch_size, "Completions in one request at most, 8 when unset.", between(1, 65536),
      OnResume::kTaken);
    f("workers", workers, "Requests at a time, 4 when unset.", between(1, 1024), OnResume::kTaken);
    endpoint.describe_retries(f);
    f("timeout_s", endpoint.timeout_s, "Seconds for one request with its retries, 10 when unset.", above(0.0),
      OnResume::kTaken);
    endpoint.describe_api_key_env(f);
  }
};

class HttpReward : public Reward {
 public:
  HttpReward(EndpointSettings settings, int64_t batch_size, int64_t num_workers)
      : endpoint_(std::move(settings)), batch_size_(batch_size), num_workers_(num_workers) {}

  bool may_recover() const override { return true; }
  int64_t batch_size() const override { return batch_size_; }
  int64_t num_workers() const override { return num_workers_; }

  RewardResult score(const Prompt& prompt, const Completion& completion) override {
    const RewardRow row{prompt, completion};
    return score_batch({&row, 1}).at(0);
  }

  std::vector<RewardResult> score_batch(std::span<const RewardRow> rows) override {
    const std::string id = endpoint_.next_id();
    const Endpoint::Answer answer = endpoint_.post(id, batch_request(id, rows));
    if (answer.status != RewardStatus::kOk) return fail_rows(rows, answer.status, answer.reason);
    // A reply may spell the key such that it shows only once the JSON is read.
    return read_batch_reply(answer.body, id, rows,
                            [this](std::string text) { return endpoint_.without_key(std::move(text)); });
  }

 private:
  Endpoint endpoint_;
  int64_t batch_size_;
  int64_t num_workers_;
};

}  // namespace

RewardMaker http_reward() {
  return reward_maker<HttpKeys>([](const RewardConfig& config, const HttpKeys& keys) {
    constexpr double kTimeoutS = 10.0;
    constexpr int64_t kNumWorkers = 4, kBatchSize = 8;
    if (keys.endpoint.url.empty())
      throw ConfigError(
          str("reward ", config.name, ": type \"http\" needs `url`, the address that rows are posted to"));
    return std::make_unique<HttpReward>(
        read_endpoint_settings(str("reward ", config.name, ": "), keys.endpoint, kTimeoutS),
        keys.batch_size.value_or(kBatchSize), keys.workers.value_or(kNumWorkers));
  });
}

}  // namespace cohort
