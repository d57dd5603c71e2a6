#include "python/python_run.h"

#include <pybind11/stl.h>

#include <numeric>

#include "cohort/sampler/sampler.h"
#include "python/batch_reader.h"
#include "python/batch_writer.h"
#include "python/engine_settings.h"
#include "python/settings.h"

namespace py = pybind11;

namespace cohort::python {

int PythonRun::run_to_end() {
  return work(
      [&] {
        try {
          return run().run();
        } catch (const py::error_already_set&) {
          if (loop().step() > 0 && loop().num_processes() == 1) loop().save();
          throw;
        }
      },
      /*is_step=*/true);
}

py::dict PythonRun::evaluate_on(const std::vector<std::string>& files) {
  return metrics_dict(work([&] { return run().evaluate_on(files); }));
}

void DrawnShare::place(int64_t count, RolloutAddress& drawn) const {
  const bool has_groups = count == std::ssize(sizes);
  if (!has_groups && count != std::accumulate(sizes.begin(), sizes.end(), int64_t{0})) return;
  for (size_t p = 0; p < sizes.size(); ++p) {
    const int64_t num_requests = has_groups ? 1 : sizes[p];
    for (int64_t sample = 0; sample < num_requests; ++sample) {
      drawn.prompts.push_back(address.prompt_number(p));
      drawn.first_samples.push_back(address.first_sample_of(p) + static_cast<uint64_t>(sample));
    }
  }
}

py::dict PythonGrpoRun::evaluate_on(const std::vector<std::string>& files, int64_t num_generations) {
  return metrics_dict(work([&] { return grpo().evaluate_on(files, num_generations); }));
}

py::list PythonGrpoRun::generate(const py::list& prompts, const py::dict& keys, int64_t step) {
  SamplingSettings settings;
  set_keys(settings_of(settings), keys);
  const Tokenizer& tokenizer = grpo().tokenizer();
  const SamplingParams params = sampling_params(settings, grpo().model().config(), &tokenizer);
  std::vector<Prompt> read;
  for (const py::handle prompt : prompts)
    read.push_back(read_prompt(prompt, &grpo().prompt_format(), str("prompts[", read.size(), "]")));
  RolloutAddress address;
  address.seed = static_cast<uint64_t>(settings.seed.value_or(grpo().config().seed));
  address.step = static_cast<uint64_t>(step);
  return to_python(work_within([&] {
    drawn_->place(std::ssize(read), address);
    Sampler sampler(grpo().model(), &tokenizer, grpo().config().rollout.cache_tokens);
    return sampler.rollout(read, settings.n, params, address);
  }));
}

py::dict metrics_dict(const Metrics& metrics) {
  py::dict dict;
  for (const auto& [name, value] : metrics) dict[py::str(name)] = value;
  return dict;
}

}  // namespace cohort::python
