#include "python/batch_reader.h"

#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/train/run/packing.h"

namespace py = pybind11;

namespace cohort::python {
namespace {

std::string type_of(const py::handle& value) { return py::str(py::type::of(value).attr("__name__")); }

/// A list, a tuple, or what a tensor or an array makes of itself, with its items.
class Items {
 public:
  Items(const py::handle& given, const std::string& where, const char* wanted) {
    const py::object list = list_of(given);
    if (!py::isinstance<py::list>(list) && !py::isinstance<py::tuple>(list))
      throw py::type_error(str(where, " is a ", type_of(given), ", but must be ", wanted));
    items_ = py::tuple(list);
  }

  int64_t size() const { return static_cast<int64_t>(items_.size()); }
  py::handle operator[](int64_t i) const { return PyTuple_GET_ITEM(items_.ptr(), i); }

 private:
  static py::object list_of(const py::handle& given) {
    if (!py::hasattr(given, "tolist")) return py::reinterpret_borrow<py::object>(given);
    try {
      return given.attr("tolist")();
    } catch (const py::error_already_set& error) {
      if (!error.matches(PyExc_RuntimeError)) throw;
      return py::none();  // a tensor without data of its own: on the meta device, or sparse
    }
  }

  py::tuple items_;  // a copy: whatever runs while it is read may change the caller's list
};

double read_number(const py::handle& given, const std::string& where) {
  const double number = PyFloat_AsDouble(given.ptr());
  if (number == -1.0 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    throw py::type_error(str(where, " is a ", type_of(given), ", but must be a number"));
  }
  return number;
}

void check_count(int64_t count, int64_t wanted, const std::string& where) {
  if (count != wanted)
    throw UserError(str(where, " has ", count, " values, but the completion has ", wanted, " tokens"));
}

/// Values of the tokens whose mask is 1, of one for each token.
std::vector<float> read_column(const py::handle& given, const std::vector<uint8_t>& mask,
                               const std::string& where) {
  const Items items(given, where, "a list of numbers or a tensor");
  check_count(items.size(), std::ssize(mask), where);
  std::vector<float> values;
  for (int64_t i = 0; i < items.size(); ++i) {
    if (mask[i] == 0) continue;
    const std::string place = str(where, "[", i, "]");
    const double number = read_number(items[i], place);
    if (!std::isfinite(number)) throw UserError(str(place, " is ", number, ", but must be finite"));
    values.push_back(static_cast<float>(number));
  }
  return values;
}

std::vector<uint8_t> read_mask(const py::handle& given, int64_t num_tokens, const std::string& where) {
  std::vector<uint8_t> mask(num_tokens, 1);
  if (given.is_none()) return mask;
  const Items items(given, where, "a list of 0 and 1 or a tensor");
  check_count(items.size(), num_tokens, where);
  for (int64_t i = 0; i < num_tokens; ++i) {
    const double value = read_number(items[i], str(where, "[", i, "]"));
    if (value != 0.0 && value != 1.0)
      throw UserError(str(where, "[", i, "] is ", value, ", but must be 0 or 1"));
    mask[i] = value != 0.0;
  }
  return mask;
}

/// Sets the tokens of a completion, those with mask 0 as injected ones; a turn ends with them.
void set_tokens(const std::vector<int32_t>& ids, const std::vector<uint8_t>& mask, Completion& completion) {
  if (std::ranges::count(mask, 0) == 0) {
    completion.token_ids = ids;
    return;
  }
  int32_t turn = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i > 0 && mask[i] != 0 && mask[i - 1] == 0) ++turn;
    completion.append(ids[i], mask[i] != 0 ? TokenOrigin::kSampled : TokenOrigin::kInjected, turn);
  }
}

/// Kept sets that tokens share stay shared.
class KeptIdsReader {
 public:
  explicit KeptIdsReader(const DecoderConfig& model) : model_(model) {}

  void read(const py::handle& given, const std::vector<int32_t>& ids, const std::vector<uint8_t>& mask,
            const std::string& where, Completion& completion) {
    if (given.is_none()) return;
    const Items items(given, where, "a list");
    check_count(items.size(), std::ssize(ids), where);
    for (int64_t i = 0; i < items.size(); ++i) {
      if (mask[i] == 0) continue;
      KeptIds kept = items[i].is_none() ? nullptr : set_of(items[i], str(where, "[", i, "]"));
      if (kept != nullptr && !std::ranges::binary_search(*kept, ids[i]))
        throw UserError(str(where, "[", i, "] lacks the token that was drawn, ", ids[i]));
      completion.kept_ids.push_back(std::move(kept));
    }
  }

 private:
  KeptIds set_of(const py::handle& given, const std::string& where) {
    auto& [owner, kept] = seen_[given.ptr()];
    if (kept != nullptr) return kept;
    std::vector<int32_t> ids = read_ids(given, where);
    if (ids.empty() || ids.front() < 0 || ids.back() >= model_.vocab_size ||
        std::ranges::adjacent_find(ids, std::ranges::greater_equal()) != ids.end())
      throw UserError(str(where, " must hold ascending ids of the vocabulary of ", model_.vocab_size));
    owner = py::reinterpret_borrow<py::object>(given);  // so that no other object takes its address
    kept = std::make_shared<const std::vector<int32_t>>(std::move(ids));
    return kept;
  }

  const DecoderConfig& model_;
  std::map<PyObject*, std::pair<py::object, KeptIds>> seen_;
};

/// One number, or one for each token.
void read_advantage(const py::handle& given, const std::vector<uint8_t>& mask, const std::string& where,
                    Sample& sample) {
  const bool is_number = PyFloat_Check(given.ptr()) || PyLong_Check(given.ptr());
  const bool is_list = py::isinstance<py::list>(given) || py::isinstance<py::tuple>(given) ||
                       (!is_number && py::getattr(given, "ndim", py::none()).equal(py::int_(1)));
  if (is_list) {
    sample.token_advantages = read_column(given, mask, where);
    return;
  }
  sample.advantage = read_number(given, where);
  if (!std::isfinite(sample.advantage))
    throw UserError(str(where, " is ", sample.advantage, ", but must be finite"));
}

void read_columns(const py::handle& given, const std::vector<uint8_t>& mask, const std::string& where,
                  Sample& sample) {
  const auto column = [&](const char* name) {
    const py::object values = given.attr(name);
    return values.is_none() ? std::vector<float>() : read_column(values, mask, str(where, ".", name));
  };
  read_advantage(given.attr("advantage"), mask, str(where, ".advantage"), sample);
  sample.reward = read_number(given.attr("reward"), where + ".reward");
  sample.completion.sampler_logprobs = column("logprobs");
  sample.old_logprobs = column("old_logprobs");
  sample.ref_logprobs = column("ref_logprobs");
  sample.entropies = column("entropies");
  if (sample.loss_length() == 0) return;
  if (sample.completion.sampler_logprobs.empty()) sample.completion.sampler_logprobs = sample.old_logprobs;
  if (sample.completion.sampler_logprobs.empty())
    throw UserError(str(where,
                        " has neither logprobs nor old_logprobs: set old_logprobs to what "
                        "Engine.logprobs() gives before the update"));
}

/// A column that some samples with loss have and others lack.
void check_all_or_none(std::span<const Group> groups, const std::vector<float> Sample::* column,
                       const char* name) {
  int64_t num_with = 0, num_samples = 0;
  for_each_sample(groups, [&](const Sample& sample) {
    if (sample.loss_length() == 0) return;
    ++num_samples;
    num_with += !(sample.*column).empty();
  });
  if (num_with != 0 && num_with != num_samples)
    throw UserError(str(num_with, " of ", num_samples, " completions have ", name, ": give all of them"));
}

/// Reads groups one after the other; `has_columns` says whether masks and columns are read, too.
class BatchReader {
 public:
  BatchReader(const DecoderConfig& model, bool has_columns)
      : model_(model), has_columns_(has_columns), kept_ids_(model) {}

  GivenBatch read(const py::handle& batch) {
    GivenBatch given;
    const Items groups(batch, "batch", "a list of cohort.Group");
    if (groups.size() == 0) throw UserError("the batch has no groups");
    for (int64_t g = 0; g < groups.size(); ++g) {
      const std::string where = str("batch[", g, "]");
      const double temperature = read_temperature(groups[g], where);
      if (g > 0 && temperature != given.temperature)
        throw UserError(str(where, ".temperature is ", temperature, " and that of batch[0] is ",
                            given.temperature, ": give groups of one temperature"));
      given.temperature = temperature;
      given.groups.push_back(read_group(groups[g], where));
    }
    return given;
  }

 private:
  static double read_temperature(const py::handle& group, const std::string& where) {
    const double temperature = read_number(group.attr("temperature"), where + ".temperature");
    if (!(temperature > 0.0) || !std::isfinite(temperature))
      throw UserError(str(where, ".temperature is ", temperature, ", but must be above 0"));
    return temperature;
  }

  Group read_group(const py::handle& given, const std::string& group_where) {
    Group group;
    group.prompt.id = group_where;
    group.prompt.token_ids = read_ids(given.attr("prompt_ids"), group_where + ".prompt_ids");
    const std::string where = group_where + ".completions";
    const Items samples(given.attr("completions"), where, "a list of cohort.Completion");
    if (samples.size() == 0) throw UserError(where + " is empty");
    for (int64_t i = 0; i < samples.size(); ++i) {
      group.samples.push_back(read_sample(samples[i], group.prompt, str(where, "[", i, "]")));
      group.samples.back().completion.sample = i;
    }
    return group;
  }

  Sample read_sample(const py::handle& given, const Prompt& prompt, const std::string& where) {
    Sample sample;
    const std::vector<int32_t> ids = read_ids(given.attr("token_ids"), where + ".token_ids");
    check_token_ids(model_, prompt.token_ids, ids, where);
    const py::object given_mask = has_columns_ ? py::object(given.attr("mask")) : py::none();
    const std::vector<uint8_t> mask = read_mask(given_mask, std::ssize(ids), where + ".mask");
    set_tokens(ids, mask, sample.completion);
    kept_ids_.read(given.attr("kept_ids"), ids, mask, where + ".kept_ids", sample.completion);
    if (has_columns_) read_columns(given, mask, where, sample);
    return sample;
  }

  const DecoderConfig& model_;
  bool has_columns_;
  KeptIdsReader kept_ids_;
};

}  // namespace

GivenBatch read_token_ids(const py::handle& batch, const DecoderConfig& model) {
  return BatchReader(model, /*has_columns=*/false).read(batch);
}

GivenBatch read_batch(const py::handle& batch, const DecoderConfig& model) {
  GivenBatch given = BatchReader(model, /*has_columns=*/true).read(batch);
  check_all_or_none(given.groups, &Sample::ref_logprobs, "ref_logprobs");
  check_all_or_none(given.groups, &Sample::entropies, "entropies");
  return given;
}

std::vector<int32_t> read_ids(const py::handle& given, const std::string& where) {
  const Items items(given, where, "a list of token ids or a tensor");
  std::vector<int32_t> ids;
  ids.reserve(items.size());
  for (int64_t i = 0; i < items.size(); ++i) {
    if (!PyLong_Check(items[i].ptr()))
      throw py::type_error(str(where, "[", i, "] is a ", type_of(items[i]), ", but must be an integer"));
    int overflow = 0;
    const int64_t id = PyLong_AsLongLongAndOverflow(items[i].ptr(), &overflow);
    if (overflow != 0 || id < 0 || id > std::numeric_limits<int32_t>::max())
      throw UserError(str(where, "[", i, "] is ", std::string(py::str(items[i])), ", which is no token id"));
    ids.push_back(static_cast<int32_t>(id));
  }
  return ids;
}

Json read_json_value(const py::handle& value, const std::string& where) {
  const py::object dumps = py::module_::import("json").attr("dumps");
  const std::string text = dumps(value, py::arg("allow_nan") = false).cast<std::string>();
  try {
    return Json::parse(text);
  } catch (const Json::exception&) {
    throw UserError(where + " holds text that is not valid Unicode");
  }
}

Prompt read_prompt(const py::handle& given, const TextFormat* format, const std::string& where) {
  const bool is_text = py::isinstance<py::str>(given);
  const bool is_conversation =
      py::isinstance<py::list>(given) && py::len(given) > 0 && py::isinstance<py::dict>(given[py::int_(0)]);
  if (!is_text && !is_conversation) {
    Prompt prompt;
    prompt.id = where;
    prompt.token_ids = read_ids(given, where);
    return prompt;
  }
  if (format == nullptr)
    throw UserError(where + " is text, and the model directory has no tokenizer.json; give token ids");
  Row row{.columns = Json::object(), .id = where, .where = where};
  row.columns["prompt"] = read_json_value(given, where);
  return to_prompt(std::move(row), *format);
}

}  // namespace cohort::python
