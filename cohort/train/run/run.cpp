#include "cohort/train/run/run.h"

#include "cohort/models/adapter.h"

namespace cohort {

int Run::run() {
  const int code = loop_->run();
  if (code == 0) save_more();
  return code;
}

void Run::finish() {
  loop_->finish();
  save_more();
}

void Run::save_model(const std::filesystem::path& directory) {
  save_trained(model(), model_config().path, directory, model_config().chat_template);
}

}  // namespace cohort
