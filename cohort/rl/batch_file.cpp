#include "cohort/rl/batch_file.h"

#include <optional>
#include <utility>

#include "cohort/core/input_file.h"
#include "cohort/rl/batch_fields.h"
#include "cohort/rl/byte_archive.h"

namespace cohort {
namespace {

constexpr std::string_view kMagic = "COHBATCH";
constexpr char kGroupRecord = 'G', kUntrainedRecord = 'U', kEndRecord = 'E';
constexpr size_t kRecordHead = 1 + sizeof(uint64_t);

std::string header_of(const Batch& batch) {
  ByteWriter writer;
  writer.bytes = kMagic;
  writer(kBatchVersion);
  writer(header_fields(batch));
  return writer.bytes;
}

std::string record_of(char kind, const std::string& content) {
  ByteWriter writer;
  writer(kind);
  writer(content);
  return writer.bytes;
}

void read_header(ByteReader& reader, Batch& batch) {
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
  read_header_fields(fields, batch);
}

/// The next record's kind and content; nothing if the bytes end before it does.
std::optional<std::pair<char, std::string>> next_record(ByteReader& reader) {
  if (reader.num_left() < kRecordHead) return std::nullopt;
  char kind = 0;
  uint64_t count = 0;
  reader(kind);
  reader(count);
  if (count > reader.num_left()) return std::nullopt;
  return std::pair(kind, std::string(reader.take(count)));
}

ReadBatch read_records(ByteReader& reader) {
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
      result.batch.groups.push_back(group_from(content));
    } else if (kind == kUntrainedRecord) {
      result.batch.untrained.push_back(untrained_group_from(content));
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
  for (const Group& group : batch.groups) bytes += record_of(kGroupRecord, fields_of(group));
  for (const UntrainedGroup& untrained : batch.untrained)
    bytes += record_of(kUntrainedRecord, fields_of(untrained));
  return bytes + record_of(kEndRecord, std::string());
}

BatchWriter::BatchWriter(const std::filesystem::path& path, const Batch& batch) : file_(path) {
  file_.truncate_to(0);
  file_.append(header_of(batch));
  file_.flush();
}

void BatchWriter::add(const Group& group) {
  file_.append(record_of(kGroupRecord, fields_of(group)));
  file_.flush();
}

void BatchWriter::add(const UntrainedGroup& group) {
  file_.append(record_of(kUntrainedRecord, fields_of(group)));
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
  ByteReader reader(bytes);
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
