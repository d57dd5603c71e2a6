#include "python/python_run.h"

#include <pybind11/stl.h>

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
          if (loop().step() > 0) loop().save();
          throw;
        }
      },
      /*is_step=*/true);
}

py::dict PythonRun::evaluate_on(const std::vector<std::string>& files) {
  return metrics_dict(work([&] { return run().evaluate_on(files); }));
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
