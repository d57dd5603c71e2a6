#include "cohort/agent/agent_episodes.h"

#include <algorithm>
#include <random>

#include "cohort/agent/agent_answer.h"
#include "cohort/core/error.h"
#include "cohort/sampler/sampler.h"
#include "cohort/serve/api/api_error.h"
#include "cohort/serve/api/request_fields.h"
#include "libs/common/random.h"

namespace cohort {
namespace {

/// Keys of this process that nobody can guess.
std::string random_prefix() {
  std::random_device device;
  return object_id("episode-", (static_cast<int64_t>(device()) << 31) ^ device()) + "-";
}

}  // namespace

AgentEpisodes::AgentEpisodes(const AgentConfig& config, const ServedModel& model, AgentHub& hub,
                             std::vector<int32_t> stop_ids)
    : config_(config),
      model_(model),
      hub_(hub),
      stop_ids_(std::move(stop_ids)),
      key_prefix_(random_prefix()) {
  format_for(nullptr);
}

AgentEpisodes::~AgentEpisodes() { abandon(); }

void AgentEpisodes::abandon() noexcept {
  try {
    for (Episode& episode : episodes_) {
      if (episode.call) refuse(*episode.call, kOver, 410);
      episode.call.reset();
    }
    hub_.close_all();
  } catch (...) {  // out of memory: agents wait until their own deadlines
    return;
  }
}

const TurnFormat& AgentEpisodes::format_for(const Json& tools) {
  std::unique_ptr<TurnFormat>& format = formats_[to_json_text(tools)];
  if (format == nullptr)
    format = std::make_unique<TurnFormat>(model_.format, *model_.tokenizer, *model_.calls, tools, stop_ids_);
  return *format;
}

Openings AgentEpisodes::begin(RolloutStart start) {
  abandon();
  first_number_ += std::ssize(episodes_);
  start_.emplace(std::move(start));
  first_of_.clear();
  episodes_.clear();
  drawn_by_.clear();
  num_playing_ = start_->group_sizes;
  num_groups_ = 0;
  std::vector<AgentTask> tasks;
  for (size_t p = 0; p < start_->prompts.size(); ++p) {
    first_of_.push_back(episodes_.size());
    const Prompt& prompt = start_->prompts[p];
    Json row = prompt.fields;
    const auto messages = row.find("prompt_messages");
    row["prompt"] = messages == row.end() ? Json(prompt.text) : *messages;
    row.erase("prompt_messages");
    num_groups_ += start_->group_sizes[p] > 0 ? 1 : 0;
    for (int64_t g = 0; g < start_->group_sizes[p]; ++g) {
      const int64_t number = first_number_ + std::ssize(episodes_);
      tasks.push_back({std::ssize(episodes_), str(key_prefix_, number), row});
      episodes_.push_back({.prompt = static_cast<int64_t>(p), .sample = g});
      episodes_.back().record.number = number;
    }
  }
  hub_.open(std::move(tasks));
  return {};
}

void AgentEpisodes::end_turn(Engine&, RequestId, int64_t, int64_t, const Completion&) {
  throw InternalError("Agents' requests have callbacks of their own.");
}

bool AgentEpisodes::take_replies(Engine& engine, bool waits) {
  engine_ = &engine;
  const bool is_idle = waits && num_groups_ > 0;
  const Clock::time_point begin = Clock::now();
  std::deque<AgentLetter> letters = hub_.take(is_idle);
  if (is_idle) times_.idle_s += std::chrono::duration<double>(Clock::now() - begin).count();
  for (AgentLetter& letter : letters) take(engine, std::move(letter));
  const Clock::time_point now = Clock::now();
  for (Episode& episode : episodes_) {
    if (!episode.is_over && episode.deadline && now > *episode.deadline)
      end(engine, episode,
          {.failure = str("the agent did not end its episode within ", config_.timeout_s, " s")});
  }
  return num_groups_ > 0;
}

void AgentEpisodes::take(Engine& engine, AgentLetter letter) {
  Episode& episode = episodes_.at(letter.episode);
  if (auto* call = std::get_if<ApiCall>(&letter.content)) {
    draw(engine, episode, std::move(*call));
  } else if (auto* ended = std::get_if<AgentEnd>(&letter.content)) {
    end(engine, episode, std::move(*ended));
  } else {
    episode.deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                          std::chrono::duration<double>(config_.timeout_s));
  }
}

/// Throws ApiError for what the run cannot train on.
void AgentEpisodes::check(const Episode& episode, const GenerationRequest& request) const {
  if (episode.is_over) throw ApiError(kOver, "", 410);
  if (episode.call)
    throw ApiError("the episode has a request that is being answered; wait for its answer", "", 409);
  if (config_.max_turns && episode.record.num_turns >= *config_.max_turns)
    throw ApiError(str("the episode has had its ", *config_.max_turns, " turns (agent.max_turns)"));
  check_trainable(request, start_->params);
}

void AgentEpisodes::draw(Engine& engine, Episode& episode, ApiCall call) {
  const GenerationRequest& request = call.request.generation;
  try {
    check(episode, request);
    if (const auto from = find_continuation(episode.branches, request)) {
      continue_branch(engine, episode, *from, request);
    } else {
      add_branch(engine, episode, request);
    }
  } catch (const ApiError& error) {
    refuse(call, error.what(), error.status());
    return;
  } catch (const UserError& error) {
    refuse(call, error.what());
    return;
  }
  episode.call = std::move(call);
}

DrawAddress AgentEpisodes::address_of(const Episode& episode, size_t branch) const {
  const RolloutAddress& address = start_->address;
  return {.seed = address.seed,
          .step = address.step,
          .prompt = address.prompts.empty() ? address.first_prompt + episode.prompt
                                            : address.prompts[episode.prompt],
          .sample = address.first_sample + episode.sample + (static_cast<uint64_t>(branch) << 32)};
}

void AgentEpisodes::add_branch(Engine& engine, Episode& episode, const GenerationRequest& request) {
  Branch branch;
  branch.prompt_ids = request.prompts.front();
  branch.tools = request.tools;
  if (request.is_chat) branch.messages = request.messages;
  branch.num_prompt_messages = branch.messages.size();
  SamplingParams params = start_->params;
  params.max_turn_length = std::min(params.max_turn_length, request.params.max_completion_length);
  const size_t place = episode.branches.size();
  branch.request = engine.add(
      {.token_ids = branch.prompt_ids,
       .params = params,
       .address = address_of(episode, place),
       .on_end = [this](RequestId id, const Completion& completion) { end_drawing(id, completion); },
       .is_held = true});
  drawn_by_[branch.request] = {&episode - episodes_.data(), place};
  episode.branches.push_back(std::move(branch));
  episode.drawing = place;
}

void AgentEpisodes::continue_branch(Engine& engine, Episode& episode, const Continuation& from,
                                    const GenerationRequest& request) {
  const Branch& source = episode.branches[from.branch];
  const BranchTurn& turn = source.turns[from.turn];
  std::vector<int32_t> ids;
  Json added = Json::array();
  if (request.is_chat) {
    added.insert(added.end(), request.messages.begin() + static_cast<int64_t>(turn.num_messages),
                 request.messages.end());
    ids = format_for(request.tools).reply_ids(turn.message, turn.last_id, added);
  } else {
    const std::vector<int32_t>& sent = request.prompts.front();
    ids.assign(sent.begin() + std::ssize(source.prompt_ids) + turn.num_tokens, sent.end());
  }
  size_t place = from.branch;
  if (from.turn + 1 < source.turns.size()) {  // a fork
    place = episode.branches.size();
    Branch fork = source;
    fork.request = engine.fork(source.request, turn.num_tokens, address_of(episode, place));
    fork.turns.resize(from.turn + 1);
    fork.messages.erase(fork.messages.begin() + static_cast<int64_t>(turn.num_messages), fork.messages.end());
    drawn_by_[fork.request] = {&episode - episodes_.data(), place};
    episode.branches.push_back(std::move(fork));
  }
  Branch& branch = episode.branches[place];
  for (Json& message : added) branch.messages.push_back(std::move(message));
  branch.first_of_turn = branch.turns.back().num_tokens + std::ssize(ids);
  engine.extend(branch.request, std::move(ids),
                std::min(start_->params.max_turn_length, request.params.max_completion_length));
  episode.drawing = place;
}

void AgentEpisodes::end_drawing(RequestId id, const Completion& completion) {
  const auto [e, b] = drawn_by_.at(id);
  Episode& episode = episodes_[e];
  Branch& branch = episode.branches[b];
  if (!episode.call) {  // of an episode without a request, drawn for its shape alone
    branch.completion = completion;
    episode.is_over = true;
    finish_group(*engine_, episode.prompt);
    return;
  }
  answer(episode, branch, completion);
}

void AgentEpisodes::answer(Episode& episode, Branch& branch, const Completion& completion) {
  const ApiCall call = std::move(*episode.call);
  episode.call.reset();
  const GenerationRequest& request = call.request.generation;
  if (std::ssize(completion.token_ids) <= branch.first_of_turn) {  // the messages found no room
    branch.messages.erase(branch.messages.begin() + static_cast<int64_t>(branch.turns.back().num_messages),
                          branch.messages.end());
    branch.completion.finish_reason = FinishReason::kLength;
    refuse(call, "the conversation is longer than rollout.max_completion_length or the model's context");
    return;
  }
  Choice choice;
  choice.finish_reason = completion.finish_reason;
  const auto num_drawn = std::ssize(completion.token_ids) - branch.first_of_turn;
  auto logprob = completion.sampler_logprobs.end() - num_drawn;
  for (auto id = completion.token_ids.end() - num_drawn; id != completion.token_ids.end(); ++id)
    choice.tokens.push_back({*id, *logprob++, nullptr});
  std::span<const int32_t> ids = std::span(completion.token_ids).subspan(branch.first_of_turn);
  const int32_t last_id = ids.back();
  if (std::ranges::find(stop_ids_, last_id) != stop_ids_.end()) ids = ids.first(ids.size() - 1);
  choice.text = model_.tokenizer->decode(ids, {.skip_special_tokens = !request.is_chat});
  EpisodeRecord& record = episode.record;
  if (request.is_chat) {
    // Not the number of the HTTP request, which depends on the order in which agents ask.
    const DrawAddress address = address_of(episode, episode.drawing);
    const auto number =
        static_cast<int64_t>(random_bits(address.seed, {address.step, address.prompt, address.sample}) >> 1);
    choice.message = read_turn_text(model_, request, choice.text, number, branch.turns.size());
    branch.messages.push_back(to_json(choice.message));
  } else {
    choice.message.content = choice.text;
  }
  record.num_calls += std::ssize(choice.message.tool_calls);
  branch.completion = completion;
  branch.completion.text = model_.tokenizer->decode(ids);
  branch.turns.push_back({branch.messages.size(), std::ssize(completion.token_ids), choice.message, last_id,
                          ++record.num_turns});
  std::vector<Choice> choices;
  choices.push_back(std::move(choice));
  send_answer(call, choices);
}

void AgentEpisodes::end(Engine& engine, Episode& episode, AgentEnd end) {
  if (episode.is_over) return;
  hub_.close(&episode - episodes_.data());
  if (episode.call) {
    refuse(*episode.call, kOver, 410);
    episode.call.reset();
    Branch& branch = episode.branches[episode.drawing];
    engine.cancel(branch.request);
    branch.request = -1;
  }
  episode.record.failure = std::move(end.failure);
  if (end.reward) {
    episode.record.reward = RewardResult{.score = *end.reward};
  } else {
    episode.record.reward = RewardResult{.status = RewardStatus::kSkipped};
  }
  episode.is_over = true;
  if (--num_playing_[episode.prompt] == 0) end_group(engine, episode.prompt);
}

/// All agents of a group are done. An episode without a turn gets a token, which is masked: a completion has
/// at least one.
void AgentEpisodes::end_group(Engine& engine, int64_t prompt) {
  const std::span<Episode> group(&episodes_[first_of_[prompt]], start_->group_sizes[prompt]);
  std::vector<int32_t> prompt_ids = start_->prompts[prompt].token_ids;
  for (Episode& episode : group) {
    for (const Branch& branch : episode.branches) {
      if (branch.request != -1) engine.cancel(branch.request);
    }
    std::erase_if(episode.branches, [](const Branch& branch) { return branch.turns.empty(); });
    if (!episode.branches.empty()) prompt_ids = episode.branches.front().prompt_ids;
  }
  for (Episode& episode : group) {
    if (!episode.branches.empty()) continue;
    if (episode.record.failure.empty()) episode.record.failure = "the agent asked the policy for nothing";
    episode.is_over = false;
    episode.deadline.reset();
    GenerationRequest request;
    request.prompts = {prompt_ids};
    request.params = start_->params;
    request.params.max_completion_length = 1;
    add_branch(engine, episode, request);
  }
  finish_group(engine, prompt);
}

/// Hands on the completions of a group whose episodes are all over.
void AgentEpisodes::finish_group(Engine& engine, int64_t prompt) {
  const std::span<Episode> group(&episodes_[first_of_[prompt]], start_->group_sizes[prompt]);
  if (!std::ranges::all_of(group, &Episode::is_over)) return;
  std::vector<std::vector<TrainedBranch>> trained;
  for (Episode& episode : group) {
    trained.push_back(trained_branches(episode.branches));
    if (!trained.back().empty()) continue;  // else an episode without a turn
    engine.cancel(episode.branches.front().request);
    trained.back().push_back({&episode.branches.front()});
  }
  std::vector<int32_t> shared = trained.front().front().branch->prompt_ids;
  for (const std::vector<TrainedBranch>& branches : trained) {
    const auto parted = std::ranges::mismatch(shared, branches.front().branch->prompt_ids).in1;
    shared.erase(parted, shared.end());
  }
  if (shared.empty())
    throw FormatError(str(start_->prompts[prompt].id, ": the prompts of its episodes share no token"));
  for (size_t g = 0; g < group.size(); ++g) {
    std::vector<Sample> sequences;
    for (const TrainedBranch& branch : trained[g]) {
      sequences.push_back(to_sequence(branch, shared));
      sequences.back().completion.sample =
          static_cast<int64_t>(start_->address.first_sample) + group[g].sample;
    }
    Completion completion = std::move(sequences.front().completion);
    sequences.erase(sequences.begin());
    group[g].record.messages = std::move(completion.episode->messages);
    completion.episode = std::move(group[g].record);
    start_->end(prompt, group[g].sample, std::move(completion), std::move(sequences));
  }
  start_->prompts[prompt].token_ids = std::move(shared);
  --num_groups_;
}

}  // namespace cohort
