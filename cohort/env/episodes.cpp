#include "cohort/env/episodes.h"

#include <algorithm>

#include "cohort/core/error.h"
#include "cohort/sampler/sampler.h"
#include "libs/common/random.h"

namespace cohort {
namespace {

/// How long the sampling thread waits before it looks after deadlines and Ctrl-C again.
constexpr std::chrono::milliseconds kLongestWait{20};

/// The tokens of the policy's last turn: one span, or several if the weights changed within it.
std::span<const int32_t> last_turn_of(const Completion& completion) {
  int64_t first = std::ssize(completion.token_ids);
  for (auto span = completion.spans.rbegin(); span != completion.spans.rend(); ++span) {
    if (span->origin != TokenOrigin::kSampled) break;
    first = span->first;
  }
  return std::span(completion.token_ids).subspan(first);
}

/// How many first tokens all of `prompts` share.
size_t shared_length(const std::vector<std::vector<int32_t>>& prompts) {
  size_t length = prompts.front().size();
  for (const std::vector<int32_t>& prompt : prompts) {
    const auto parted = std::ranges::mismatch(prompts.front(), prompt).in1;
    length = std::min(length, static_cast<size_t>(parted - prompts.front().begin()));
  }
  return length;
}

}  // namespace

Episodes::Episodes(Environment& environment, const TurnFormat& format, EpisodeLimits limits)
    : environment_(environment), format_(format), limits_(limits), mailbox_(std::make_shared<Mailbox>()) {}

Episodes::~Episodes() = default;

Openings Episodes::begin(RolloutStart start) {
  auto& [prompts, group_sizes, params, address, end] = start;
  end_ = std::move(end);
  first_of_.clear();
  running_.clear();
  num_waiting_ = 0;
  mailbox_ = std::make_shared<Mailbox>();  // late replies of an earlier rollout go to its own
  std::vector<EpisodeStart> starts;
  for (size_t p = 0; p < prompts.size(); ++p) {
    first_of_.push_back(starts.size());
    const uint64_t seed = random_bits(address.seed, {address.step, address.prompt_number(p)});
    for (int64_t g = 0; g < group_sizes[p]; ++g)
      starts.push_back({&prompts[p], static_cast<int64_t>(address.first_sample_of(p)) + g, seed});
  }
  for (const Prompt& prompt : prompts) {
    if (!format_.tools().is_null() && !prompt.fields.contains("prompt_messages")) {
      throw FormatError(
          str(prompt.id,
              ": tools stand in the chat template, which a prompt that is a string has not: give "
              "a list of messages"));
    }
  }
  std::vector<Opening> opened = environment_.begin(starts);
  COHORT_CHECK(opened.size() == starts.size());
  Openings openings(prompts.size());
  for (size_t p = 0; p < prompts.size(); ++p) {
    std::vector<std::vector<int32_t>> ids;
    for (int64_t g = 0; g < group_sizes[p]; ++g) {
      Opening& opening = opened[first_of_[p] + g];
      ids.push_back(opening.observation.empty() ? prompts[p].token_ids
                                                : format_.opened_prompt(prompts[p], opening.observation));
      ids.back().insert(ids.back().end(), prompts[p].turn_ids.begin(), prompts[p].turn_ids.end());
      running_.push_back(
          {.prompt = static_cast<int64_t>(p), .sample = g, .episode = std::move(opening.episode)});
      running_.back().turn_ids = prompts[p].turn_ids;
      running_.back().record.opening = std::move(opening.observation);
      running_.back().record.failure = std::move(opening.failure);
      running_.back().record.number = opening.number;
      running_.back().state = opening.state;
    }
    if (ids.empty()) continue;
    const auto length = static_cast<int64_t>(shared_length(ids));
    if (length == 0) throw FormatError(str(prompts[p].id, ": the prompts of its episodes share no token"));
    prompts[p].token_ids.assign(ids[0].begin(), ids[0].begin() + length);
    for (const std::vector<int32_t>& each : ids) openings[p].emplace_back(each.begin() + length, each.end());
  }
  return openings;
}

void Episodes::end_turn(Engine& engine, RequestId id, int64_t prompt, int64_t sample,
                        const Completion& completion) {
  const size_t place = first_of_[prompt] + sample;
  Running& episode = running_[place];
  episode.request = id;
  // No room for the reply: the episode ends as it was before.
  if (completion.token_ids.size() == episode.completion.token_ids.size() && episode.record.num_turns > 0) {
    Json& messages = episode.record.messages;
    messages.erase(messages.begin() + static_cast<int64_t>(episode.num_messages), messages.end());
    episode.completion.finish_reason = FinishReason::kLength;
    end(engine, place);
    return;
  }
  read_turn(episode, completion);
  if (completion.finish_reason == FinishReason::kLength || !episode.record.failure.empty()) {
    end(engine, place);
  } else {
    ask(place);
  }
}

void Episodes::read_turn(Running& episode, const Completion& completion) {
  episode.completion = completion;
  const std::span<const int32_t> sampled = last_turn_of(completion);
  std::vector<int32_t> ids;
  if (episode.record.num_turns == 0) ids = episode.turn_ids;
  ids.insert(ids.end(), sampled.begin(), sampled.end());
  episode.turn = format_.read(ids);
  episode.completion.text = format_.text(ids);
  ++episode.record.num_turns;
  if (episode.state) episode.record.turn_states.push_back(*episode.state);
  episode.record.messages.push_back(to_json(episode.turn));
  episode.num_messages = episode.record.messages.size();
}

std::optional<CallPlace> Episodes::first_call(const Completion& completion) const {
  const auto begin = std::ranges::find(completion.spans, TokenOrigin::kSampled, &TokenSpan::origin);
  if (begin == completion.spans.end()) return std::nullopt;
  const int64_t first = begin->first;
  int64_t end = first;
  for (auto span = begin; span != completion.spans.end() && span->turn == begin->turn; ++span)
    end = span->end();
  std::optional<CallPlace> place =
      format_.first_call(std::span(completion.token_ids).subspan(first, end - first));
  if (place) place = CallPlace{first + place->first, first + place->opened, first + place->end_of_turn};
  return place;
}

bool Episodes::has_budget(const Running& episode) const {
  const auto num_calls = static_cast<int64_t>(episode.turn.tool_calls.size());
  return episode.record.num_turns < limits_.max_turns &&
         episode.record.num_calls + num_calls <= limits_.max_tool_calls;
}

/// Notes that the episode waits, and returns the function that the environment tells with how far it is.
std::function<void(Episodes::News)> Episodes::await(size_t place) {
  Running& episode = running_[place];
  episode.is_waiting = true;
  ++num_waiting_;
  episode.begun.reset();
  episode.asked = Clock::now();
  const int64_t number = ++episode.num_questions;
  return [mailbox = mailbox_, place, number](News content) {
    {
      const std::lock_guard lock(mailbox->mutex);
      mailbox->letters.push_back({place, number, std::move(content)});
    }
    mailbox->arrived.notify_one();
  };
}

void Episodes::ask(size_t place) {
  Running& episode = running_[place];
  episode.is_last = !has_budget(episode);
  const auto tell = await(place);
  episode.episode->respond(episode.turn, episode.is_last, [tell] { tell(Begun{}); }, tell);
}

bool Episodes::take_replies(Engine& engine, bool waits) {
  const bool has_taken = take_letters(engine, waits && num_waiting_ > 0);
  const bool has_failed = fail_late(engine);
  return has_taken || has_failed || num_waiting_ > 0;
}

bool Episodes::take_letters(Engine& engine, bool waits) {
  std::deque<Mailbox::Letter> letters;
  {
    std::unique_lock lock(mailbox_->mutex);
    if (waits) {
      const Clock::time_point begin = Clock::now();
      mailbox_->arrived.wait_for(lock, kLongestWait, [&] { return !mailbox_->letters.empty(); });
      times_.idle_s += std::chrono::duration<double>(Clock::now() - begin).count();
    }
    letters.swap(mailbox_->letters);
  }
  bool has_taken = false;
  for (Mailbox::Letter& letter : letters) {
    Running& episode = running_[letter.episode];
    last_news_ = Clock::now();
    if (!episode.is_waiting || episode.num_questions != letter.number) continue;  // its deadline has passed
    if (std::holds_alternative<Begun>(letter.content)) {
      episode.begun = last_news_;
      continue;
    }
    episode.is_waiting = false;
    --num_waiting_;
    has_taken = true;
    if (auto* reply = std::get_if<Reply>(&letter.content)) {
      take(engine, letter.episode, std::move(*reply));
    } else {
      episode.record.reward = std::get<RewardResult>(std::move(letter.content));
      finish(episode);
    }
  }
  return has_taken;
}

/// A question that the environment has not begun to answer waits for the others: its time counts from the
/// last that was heard of any.
bool Episodes::fail_late(Engine& engine) {
  if (num_waiting_ == 0) return false;
  const Clock::time_point now = Clock::now();
  const auto timeout =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limits_.timeout_s));
  bool has_failed = false;
  for (size_t place = 0; place < running_.size(); ++place) {
    Running& episode = running_[place];
    if (!episode.is_waiting) continue;
    if (now < episode.begun.value_or(std::max(episode.asked, last_news_)) + timeout) continue;
    episode.is_waiting = false;
    --num_waiting_;
    take(engine, place, {.failure = str("the environment did not answer within ", limits_.timeout_s, " s")});
    has_failed = true;
  }
  return has_failed;
}

void Episodes::take(Engine& engine, size_t place, Reply reply) {
  Running& episode = running_[place];
  EpisodeRecord& record = episode.record;
  record.num_calls += reply.num_calls;
  record.num_failed_calls += reply.num_failed_calls;
  for (const CallTime& call : reply.times) times_.of_calls[call.tool].push_back(call.seconds);
  record.failure = std::move(reply.failure);
  if (reply.reward == reply.reward)
    record.turn_rewards.push_back({std::ssize(episode.completion.token_ids), reply.reward});
  if (reply.state) episode.state = reply.state;
  for (const Json& message : reply.messages) record.messages.push_back(message);
  if (!record.failure.empty() || reply.is_last || reply.messages.empty() || episode.is_last) {
    end(engine, place);
    return;
  }
  try {
    engine.extend(episode.request,
                  format_.reply_ids(episode.turn, episode.completion.token_ids.back(), reply.messages));
  } catch (const UserError& error) {  // messages that the template refuses
    record.failure = error.what();
    end(engine, place);
  }
}

/// The policy's last turn is over; the environment may still judge.
void Episodes::end(Engine& engine, size_t place) {
  Running& episode = running_[place];
  if (episode.request != -1) engine.cancel(std::exchange(episode.request, -1));
  if (episode.record.failure.empty() && environment_.gives_rewards()) {
    const auto tell = await(place);
    episode.episode->judge([tell] { tell(Begun{}); }, tell);
  } else {
    if (episode.record.failure.empty() && environment_.gives_turn_rewards())
      episode.record.reward = RewardResult{};
    finish(episode);
  }
}

void Episodes::finish(Running& episode) {
  episode.episode.reset();
  episode.completion.episode = std::move(episode.record);
  end_(episode.prompt, episode.sample, std::move(episode.completion), {});
}

}  // namespace cohort
