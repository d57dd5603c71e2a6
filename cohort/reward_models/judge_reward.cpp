// Judge: a language model scores completions by a rubric, served elsewhere (JudgeReward) or loaded here.
#include "cohort/rewards/judge_reward.h"

#include <algorithm>

#include "cohort/models/kv_cache.h"
#include "cohort/reward_models/frozen_model.h"
#include "cohort/reward_models/make_model_reward.h"
#include "cohort/rewards/reward_keys.h"
#include "cohort/sampler/block_manager.h"
#include "cohort/sampler/model_tokenizer.h"
#include "cohort/sampler/sampler.h"
#include "cohort/sampler/stop_ids.h"
#include "cohort/tasks/text_format.h"
#include "cohort/tensor/one_thread.h"
#include "libs/common/hash.h"

namespace cohort {
namespace {

constexpr int64_t kBatch = 8;              // rows that a call takes at most; changes no result
constexpr int64_t kQuestionTokens = 8192;  // of the questions that are in memory at once

constexpr const char* kServedKeys =
    "url model api_key_env rubric criteria max_score votes temperature workers retries timeout_s "
    "requests_per_minute tokens_per_minute cache_dir";
constexpr const char* kLocalKeys =
    "path dtype rubric criteria max_score votes temperature max_completion_length";

Json turn(const char* role, std::string text) { return {{"role", role}, {"content", std::move(text)}}; }

std::string where_of(const std::string& name) { return str("reward ", name, ": "); }

class LocalJudge : public Reward {
 public:
  LocalJudge(const std::string& name, const JudgeKeys& keys, const JudgedPolicy& policy)
      : decoder_(load_frozen(name, keys.path, keys.dtype, HeadKind::kCausalLm)),
        tokenizer_(read_tokenizer(keys.path, decoder_->config())),
        prompt_(keys.rubric, read_judge_scale(keys, where_of(name)), where_of(name)),
        num_votes_(keys.votes.value_or(1)) {
    if (tokenizer_ == nullptr)
      throw FormatError(str(keys.path, ": has no tokenizer.json, which a judge needs"));
    params_.temperature = keys.server.temperature.value_or(0.0);
    params_.max_completion_length = keys.max_completion_length.value_or(512);
    params_.stop_token_ids = stop_token_ids(decoder_->config(), tokenizer_.get());
    if (num_votes_ > 1 && params_.temperature == 0.0) {
      throw ConfigError(str(where_of(name), "`votes` = ", num_votes_,
                            " needs a `temperature` above 0, or all votes are one"));
    }
    format_ = text_format(*tokenizer_, keys.path, policy.now);
    knows_system_ = can_render(Json::array({turn("system", "a"), turn("user", "b")}));
    if (!knows_system_) render(Json::array({turn("user", "b")}));
  }

  RewardResult score(const Prompt& prompt, const Completion& completion) override {
    const RewardRow row{prompt, completion};
    return score_batch({&row, 1}).front();
  }

  std::vector<RewardResult> score_batch(std::span<const RewardRow> rows) override {
    const OneThread one_thread;  // the others are the sampler's
    std::vector<RewardResult> results(rows.size());
    std::vector<Prompt> asked;
    std::vector<size_t> places;
    for (size_t i = 0; i < rows.size(); ++i) {
      try {
        asked.push_back(question(rows[i]));
        places.push_back(i);
      } catch (const UserError& error) {
        results[i] = {0.0, RewardStatus::kUnparsed, str(rows[i].prompt.id, ": ", error.what())};
      }
    }
    const std::vector<Ballot> ballots = hold(asked);
    for (size_t k = 0; k < places.size(); ++k)
      results[places[k]] = ballots[k].result(prompt_.scale(), rows[places[k]].prompt.id);
    return results;
  }

  int64_t batch_size() const override { return kBatch; }

  int64_t memory_bytes() const override {
    const DecoderConfig& model = decoder_->config();
    const int64_t logits = kBatch * num_votes_ * model.vocab_size * static_cast<int64_t>(sizeof(float));
    return frozen_model_bytes(*decoder_, kQuestionTokens) + 2 * logits +
           cache_tokens() * KvCache::bytes_per_row(model, decoder_->compute_dtype());
  }

 private:
  std::string render(const Json& messages) const {
    RenderOptions options;
    options.add_generation_prompt = true;
    return format_.render(messages, options);
  }

  bool can_render(const Json& messages) const {
    try {
      render(messages);
      return true;
    } catch (const UserError&) {
      return false;
    }
  }

  /// What the longest question takes that fills no page.
  int64_t cache_tokens() const {
    return kPageRows * pages_for_group(kQuestionTokens - 1, num_votes_, params_.max_completion_length);
  }

  /// The messages as its template takes them, without special tokens that a row may spell.
  Json turns(const Json& messages) const {
    const auto text = [&](size_t i) {
      return tokenizer_->without_special_tokens(messages.at(i).at("content").get<std::string>());
    };
    if (!knows_system_) return Json::array({turn("user", text(0) + "\n\n" + text(1))});
    return Json::array({turn("system", text(0)), turn("user", text(1))});
  }

  /// What the judge is asked about a row. Throws UserError where it can't be.
  Prompt question(const RewardRow& row) const {
    if (const auto reason = prompt_.refusal(row.prompt, row.completion)) throw FormatError(*reason);
    const Json messages = prompt_.messages(row.prompt, row.completion);
    Prompt prompt;
    prompt.id = "the judge's question";
    prompt.token_ids = format_.tokenize_rendered(render(turns(messages)));
    if (std::ssize(prompt.token_ids) > kQuestionTokens) {
      throw FormatError(str("the question of ", prompt.token_ids.size(), " tokens is longer than ",
                            kQuestionTokens, ", a judge's limit"));
    }
    check_prompts({prompt}, decoder_->config());
    return prompt;
  }

  /// Greedy answers need no random numbers and come in one rollout; others in one each, so that what is drawn
  /// for a question depends on its ids alone.
  std::vector<Ballot> hold(const std::vector<Prompt>& asked) {
    const size_t at_once = params_.temperature == 0.0 ? std::max<size_t>(1, asked.size()) : 1;
    std::vector<Ballot> ballots;
    Sampler sampler(*decoder_, tokenizer_.get(), cache_tokens());
    for (size_t begin = 0; begin < asked.size(); begin += at_once) {
      const auto first = asked.begin() + static_cast<std::ptrdiff_t>(begin);
      const std::vector<int32_t>& ids = first->token_ids;
      const uint64_t seed = fnv1a({reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(int32_t)});
      const std::vector<Prompt> batch(first, first + static_cast<std::ptrdiff_t>(at_once));
      for (const Group& group : sampler.rollout(batch, num_votes_, params_, {.seed = seed})) {
        Ballot& ballot = ballots.emplace_back(num_votes_);
        for (const Sample& answer : group.samples) ballot.add(read(answer.completion), RewardStatus::kError);
      }
    }
    return ballots;
  }

  JudgeVote read(const Completion& answer) const {
    if (answer.finish_reason == FinishReason::kLength)
      return {{}, str("the judge's answer did not end within ", answer.token_ids.size(), " tokens")};
    return read_judge_vote(answer.text, prompt_.scale());
  }

  std::unique_ptr<Decoder> decoder_;
  std::unique_ptr<const Tokenizer> tokenizer_;
  JudgePrompt prompt_;
  int64_t num_votes_;
  SamplingParams params_;
  TextFormat format_;
  bool knows_system_ = true;
};

}  // namespace

RewardMaker judge_reward(const JudgedPolicy& policy) {
  return reward_maker<JudgeKeys>(
      [policy](const RewardConfig& config, const JudgeKeys& keys) -> std::unique_ptr<Reward> {
        JudgeKeys unset;
        check_keys(config, keys.path.empty() ? kServedKeys : kLocalKeys, settings_of(unset).fields);
        if (keys.path.empty()) return std::make_unique<JudgeReward>(config);
        return std::make_unique<LocalJudge>(config.name, keys, policy);
      });
}

}  // namespace cohort
