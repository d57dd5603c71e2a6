#include "cohort/rl/batch_file.h"

#include <concepts>
#include <cstring>
#include <map>
#include <optional>
#include <type_traits>

#include "cohort/core/input_file.h"

namespace cohort {
namespace {

constexpr std::string_view kMagic = "COHBATCH";
constexpr char kGroupRecord = 'G', kUntrainedRecord = 'U', kEndRecord = 'E';
constexpr size_t kRecordHead = 1 + sizeof(uint64_t);

template <typename T>
concept Plain = (std::is_arithmetic_v<T> && !std::same_as<T, bool>) || std::is_enum_v<T>;

// The last value of each enumeration, so that a damaged byte is no value.
constexpr TokenOrigin last_value(TokenOrigin) { return TokenOrigin::kInjected; }
constexpr FinishReason last_value(FinishReason) { return FinishReason::kLength; }
constexpr RewardStatus last_value(RewardStatus) { return RewardStatus::kSkipped; }
constexpr LossMask last_value(LossMask) { return LossMask::kMonitor; }
constexpr Untrained last_value(Untrained) { return Untrained::kSurplus; }

/// Appends values to a string.
class Writer {
 public:
  static constexpr bool kReads = false;

  template <Plain T>
  void operator()(const T& value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }

  void operator()(bool value) { (*this)(static_cast<uint8_t>(value)); }
  void operator()(const std::string& text) { list(text); }

  template <Plain T>
  void operator()(const std::vector<T>& values) {
    list(values);
  }

  std::string bytes;

 private:
  template <typename List>
  void list(const List& values) {
    (*this)(static_cast<uint64_t>(values.size()));
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0]));
  }
};

/// Takes values off the front of some bytes. Throws FormatError where they end too early.
class Reader {
 public:
  static constexpr bool kReads = true;

  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <Plain T>
  void operator()(T& value) {
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    if constexpr (std::is_enum_v<T>) {
      if (value > last_value(value)) throw FormatError("a value is out of its range");
    }
  }

  void operator()(bool& value) {
    uint8_t byte = 0;
    (*this)(byte);
    value = byte != 0;
  }
  void operator()(std::string& text) { list(text); }

  template <Plain T>
  void operator()(std::vector<T>& values) {
    list(values);
  }

  /// The length of a list whose elements take at least a byte each.
  uint64_t length() {
    uint64_t count = 0;
    (*this)(count);
    if (count > bytes_.size()) throw FormatError("a list is longer than its record");
    return count;
  }

  size_t num_left() const { return bytes_.size(); }

  std::string_view take(size_t count) {
    if (count > bytes_.size()) throw FormatError("a record ends too early");
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }

 private:
  template <typename List>
  void list(List& values) {
    const uint64_t count = length();
    values.resize(count);
    const std::string_view taken = take(count * sizeof(values[0]));
    if (count > 0) std::memcpy(values.data(), taken.data(), taken.size());
  }

  std::string_view bytes_;
};

/// Calls f for each element of a list, whose length stands before it.
template <typename Archive, typename List, typename F>
void describe_list(Archive& a, List& list, F f) {
  if constexpr (Archive::kReads) {
    list.resize(a.length());
  } else {
    a(static_cast<uint64_t>(list.size()));
  }
  for (auto& each : list) f(each);
}

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
void describe_kept_ids(Writer& a, const std::vector<KeptIds>& kept_ids) {
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

void describe_kept_ids(Reader& a, std::vector<KeptIds>& kept_ids) {
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
}

template <typename Archive, typename S>
  requires std::same_as<std::remove_const_t<S>, Sample>
void describe(Archive& a, S& sample) {
  describe(a, sample.completion);
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
}

template <typename Archive, typename P>
  requires std::same_as<std::remove_const_t<P>, Prompt>
void describe(Archive& a, P& prompt) {
  a(prompt.id);
  a(prompt.token_ids);
  a(prompt.text);
  if constexpr (Archive::kReads) {
    std::vector<uint8_t> fields;
    a(fields);
    prompt.fields = Json::from_cbor(fields);
  } else {
    a(Json::to_cbor(prompt.fields));
  }
}

template <typename Archive, typename G>
  requires std::same_as<std::remove_const_t<G>, Group>
void describe(Archive& a, G& group) {
  describe(a, group.prompt);
  describe_list(a, group.samples, [&](auto& sample) { describe(a, sample); });
  bool has_beta = group.beta.has_value();
  double beta = group.beta.value_or(0.0);
  a(has_beta);
  a(beta);
  if constexpr (Archive::kReads) group.beta = has_beta ? std::optional(beta) : std::nullopt;
  a(group.num_kept);
  a(group.has_no_difference);
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

std::string header_of(const Batch& batch) {
  Writer writer;
  writer.bytes = kMagic;
  writer(kBatchVersion);
  Writer fields;
  describe_header(fields, batch);
  writer(fields.bytes);
  return writer.bytes;
}

std::string record_of(char kind, const std::string& content) {
  Writer writer;
  writer(kind);
  writer(content);
  return writer.bytes;
}

template <typename T>
std::string record_of(char kind, const T& value) {
  Writer writer;
  describe(writer, value);
  return record_of(kind, writer.bytes);
}

void read_header(Reader& reader, Batch& batch) {
  if (reader.num_left() < kMagic.size() || reader.take(kMagic.size()) != kMagic)
    throw FormatError("is not a batch");
  uint32_t version = 0;
  reader(version);
  if (version != kBatchVersion) {
    throw FormatError(
        str("is a batch of version ", version, ", and this program reads version ", kBatchVersion));
  }
  std::string fields;
  reader(fields);
  Reader header(fields);
  describe_header(header, batch);
}

template <typename T>
T value_of(const std::string& content) {
  Reader reader(content);
  T value;
  describe(reader, value);
  if (reader.num_left() > 0) throw FormatError("a record has bytes after its end");
  return value;
}

/// The next record's kind and content; nothing if the bytes end before it does.
std::optional<std::pair<char, std::string>> next_record(Reader& reader) {
  if (reader.num_left() < kRecordHead) return std::nullopt;
  char kind = 0;
  uint64_t count = 0;
  reader(kind);
  reader(count);
  if (count > reader.num_left()) return std::nullopt;
  return std::pair(kind, std::string(reader.take(count)));
}

ReadBatch read_records(Reader& reader) {
  ReadBatch result;
  read_header(reader, result.batch);
  while (const auto record = next_record(reader)) {
    const auto& [kind, content] = *record;
    if (kind == kEndRecord) {
      if (reader.num_left() > 0) throw FormatError("has bytes after its end");
      result.is_finished = true;
      break;
    }
    if (kind == kGroupRecord) {
      result.batch.groups.push_back(value_of<Group>(content));
    } else if (kind == kUntrainedRecord) {
      result.batch.untrained.push_back(value_of<UntrainedGroup>(content));
    } else {
      throw FormatError(str("has a record of the unknown kind ", static_cast<int>(kind)));
    }
  }
  for_each_sample(result.batch.groups, [](const Sample& sample) { check_completion(sample.completion); });
  return result;
}

}  // namespace

std::string to_bytes(const Batch& batch) {
  std::string bytes = header_of(batch);
  for (const Group& group : batch.groups) bytes += record_of(kGroupRecord, group);
  for (const UntrainedGroup& untrained : batch.untrained) bytes += record_of(kUntrainedRecord, untrained);
  return bytes + record_of(kEndRecord, std::string());
}

BatchWriter::BatchWriter(const std::filesystem::path& path, const Batch& batch) : file_(path) {
  file_.truncate_to(0);
  file_.append(header_of(batch));
  file_.flush();
}

void BatchWriter::add(const Group& group) {
  file_.append(record_of(kGroupRecord, group));
  file_.flush();
}

void BatchWriter::add(const UntrainedGroup& group) {
  file_.append(record_of(kUntrainedRecord, group));
  file_.flush();
}

void BatchWriter::finish() {
  file_.append(record_of(kEndRecord, std::string()));
  file_.flush();
}

void write_batch(const std::filesystem::path& path, const Batch& batch) {
  const std::filesystem::path temporary = path.string() + ".tmp";
  BatchWriter writer(temporary, batch);
  for (const Group& group : batch.groups) writer.add(group);
  for (const UntrainedGroup& untrained : batch.untrained) writer.add(untrained);
  writer.finish();
  std::error_code error;
  std::filesystem::rename(temporary, path, error);
  if (error) throw FormatError(str(path.string(), ": can't be written: ", error.message()));
}

ReadBatch read_batch(const std::filesystem::path& path) {
  const std::string bytes = read_whole_file(path);
  Reader reader(bytes);
  try {
    return read_records(reader);
  } catch (const FormatError& error) {
    throw FormatError(str(path.string(), ": ", error.what()));
  } catch (const InternalError& error) {
    throw FormatError(str(path.string(), ": is damaged: ", error.what()));
  } catch (const Json::exception& error) {
    throw FormatError(str(path.string(), ": is damaged: ", error.what()));
  }
}

}  // namespace cohort
