#include "cohort/rl/batch_fields.h"

#include <map>
#include <memory>
#include <optional>

#include "cohort/rl/byte_archive.h"

namespace cohort {

// The last value of each enumeration, so that a damaged byte is no value. ByteReader finds these
// by the types of their arguments.
constexpr TokenOrigin last_value(TokenOrigin) { return TokenOrigin::kInjected; }
constexpr FinishReason last_value(FinishReason) { return FinishReason::kLength; }
constexpr RewardStatus last_value(RewardStatus) { return RewardStatus::kSkipped; }
constexpr LossMask last_value(LossMask) { return LossMask::kFailed; }
constexpr Untrained last_value(Untrained) { return Untrained::kSurplus; }

namespace {

// Below, `describe` names the members of a type once, for writing and for reading.

template <typename Archive, typename Step>
  requires std::same_as<std::remove_const_t<Step>, StepReward>
void describe(Archive& a, Step& step) {
  a(step.end);
  a(step.score);
}

template <typename Archive, typename Cell>
  requires std::same_as<std::remove_const_t<Cell>, RewardResult>
void describe(Archive& a, Cell& cell) {
  a(cell.score);
  a(cell.status);
  a(cell.detail);
  describe_list(a, cell.steps, [&](auto& step) { describe(a, step); });
}

/// Tokens of one completion often share what they were drawn from, so each list is written once: the distinct
/// lists, and then for each token the place of its own, 0 for the whole vocabulary.
void describe_kept_ids(ByteWriter& a, const std::vector<KeptIds>& kept_ids) {
  std::map<const std::vector<int32_t>*, uint32_t> places{{nullptr, 0}};
  std::vector<const std::vector<int32_t>*> lists;
  std::vector<uint32_t> own;
  own.reserve(kept_ids.size());
  for (const KeptIds& ids : kept_ids) {
    const auto [place, is_new] = places.emplace(ids.get(), static_cast<uint32_t>(places.size()));
    if (is_new) lists.push_back(ids.get());
    own.push_back(place->second);
  }
  a(static_cast<uint64_t>(lists.size()));
  for (const std::vector<int32_t>* ids : lists) a(*ids);
  a(own);
}

void describe_kept_ids(ByteReader& a, std::vector<KeptIds>& kept_ids) {
  std::vector<KeptIds> lists{nullptr};
  for (uint64_t left = a.length(); left > 0; --left) {
    std::vector<int32_t> ids;
    a(ids);
    lists.push_back(std::make_shared<const std::vector<int32_t>>(std::move(ids)));
  }
  std::vector<uint32_t> own;
  a(own);
  kept_ids.clear();
  for (const uint32_t place : own) {
    if (place >= lists.size()) throw FormatError("a token names a kept set that is not there");
    kept_ids.push_back(lists[place]);
  }
}

/// JSON of any kind, as CBOR.
void describe_json(ByteWriter& a, const Json& value) { a(Json::to_cbor(value)); }

void describe_json(ByteReader& a, Json& value) {
  std::vector<uint8_t> bytes;
  a(bytes);
  value = Json::from_cbor(bytes);
}

/// Whether there is a value, and then the value.
template <typename Archive, typename Optional, typename F>
void describe_optional(Archive& a, Optional& value, F f) {
  bool has_value = value.has_value();
  a(has_value);
  if constexpr (Archive::kReads) {
    value.reset();
    if (has_value) value.emplace();
  }
  if (has_value) f(*value);
}

template <typename Archive, typename E>
  requires std::same_as<std::remove_const_t<E>, EpisodeRecord>
void describe(Archive& a, E& episode) {
  a(episode.number);
  a(episode.opening);
  describe_json(a, episode.messages);
  a(episode.num_turns);
  a(episode.num_calls);
  a(episode.num_failed_calls);
  describe_list(a, episode.turn_rewards, [&](auto& step) { describe(a, step); });
  a(episode.turn_states);
  describe_optional(a, episode.reward, [&](auto& reward) { describe(a, reward); });
  a(episode.failure);
}

template <typename Archive, typename C>
  requires std::same_as<std::remove_const_t<C>, Completion>
void describe(Archive& a, C& completion) {
  a(completion.token_ids);
  describe_list(a, completion.spans, [&](auto& span) {
    a(span.origin);
    a(span.turn);
    a(span.policy_version);
    a(span.first);
    a(span.count);
  });
  a(completion.sampler_logprobs);
  describe_kept_ids(a, completion.kept_ids);
  a(completion.finish_reason);
  a(completion.sample);
  a(completion.text);
  describe_optional(a, completion.episode, [&](auto& episode) { describe(a, episode); });
}

template <typename Archive, typename S>
  requires std::same_as<std::remove_const_t<S>, Sample>
void describe(Archive& a, S& sample) {
  describe(a, sample.completion);
  a(sample.prompt_ids);
  describe_list(a, sample.rewards, [&](auto& cell) { describe(a, cell); });
  a(sample.reward);
  a(sample.advantage);
  a(sample.token_advantages);
  a(sample.mask);
  a(sample.is_demonstration);
  a(sample.old_logprobs);
  a(sample.ref_logprobs);
  a(sample.entropies);
  a(sample.values);
  a(sample.returns);
  describe_list(a, sample.branches, [&](auto& branch) { describe(a, branch); });
  describe_optional(a, sample.fork, [&](auto& fork) {
    a(fork.of);
    a(fork.num_segments);
    a(fork.num_tokens);
  });
}

template <typename Archive, typename P>
  requires std::same_as<std::remove_const_t<P>, Prompt>
void describe(Archive& a, P& prompt) {
  a(prompt.id);
  a(prompt.token_ids);
  a(prompt.text);
  describe_json(a, prompt.fields);
  a(prompt.turn_ids);
}

template <typename Archive, typename G>
  requires std::same_as<std::remove_const_t<G>, Group>
void describe(Archive& a, G& group) {
  describe(a, group.prompt);
  describe_list(a, group.samples, [&](auto& sample) { describe(a, sample); });
  describe_optional(a, group.beta, [&](auto& beta) { a(beta); });
  a(group.num_kept);
  a(group.has_no_difference);
  describe_optional(a, group.rerolls, [&](auto& rerolls) {
    a(rerolls.group);
    a(rerolls.sample);
    a(rerolls.num_frozen);
    a(rerolls.recovery);
  });
}

template <typename Archive, typename U>
  requires std::same_as<std::remove_const_t<U>, UntrainedGroup>
void describe(Archive& a, U& untrained) {
  describe(a, untrained.group);
  a(untrained.reason);
  a(untrained.of);
}

template <typename Archive, typename B>
  requires std::same_as<std::remove_const_t<B>, Batch>
void describe_header(Archive& a, B& batch) {
  a(batch.step);
  describe_list(a, batch.reward_names, [&](auto& name) { a(name); });
  a(batch.reward_weights);
  a(batch.gives_steps);
}

template <typename T>
std::string bytes_of(const T& value) {
  ByteWriter writer;
  describe(writer, value);
  return writer.bytes;
}

template <typename T>
T value_of(const std::string& content) {
  ByteReader reader(content);
  T value;
  describe(reader, value);
  if (reader.num_left() > 0) throw FormatError("a record has bytes after its end");
  return value;
}

}  // namespace

std::string header_fields(const Batch& batch) {
  ByteWriter writer;
  describe_header(writer, batch);
  return writer.bytes;
}

void read_header_fields(const std::string& bytes, Batch& batch) {
  ByteReader reader(bytes);
  describe_header(reader, batch);
}

std::string fields_of(const Group& group) { return bytes_of(group); }
std::string fields_of(const UntrainedGroup& untrained) { return bytes_of(untrained); }

Group group_from(const std::string& bytes) { return value_of<Group>(bytes); }
UntrainedGroup untrained_group_from(const std::string& bytes) { return value_of<UntrainedGroup>(bytes); }

std::string to_hex(const std::string& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char byte : bytes) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

std::string from_hex(const std::string& text) {
  const auto digit = [](char c) -> int {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    throw FormatError(str("'", c, "' is no hexadecimal digit"));
  };
  if (text.size() % 2 != 0) throw FormatError("hexadecimal digits come in pairs");
  std::string bytes;
  bytes.reserve(text.size() / 2);
  for (size_t i = 0; i < text.size(); i += 2)
    bytes += static_cast<char>(digit(text[i]) * 16 + digit(text[i + 1]));
  return bytes;
}

}  // namespace cohort
