// Writes the scores of a classification head, one JSON list of rows of num_labels a line:
// head_scores MODEL_DIR sequence|token ROWS.jsonl. For comparison with other libraries.
#include <iostream>

#include "cohort/core/error.h"
#include "cohort/core/jsonl_reader.h"
#include "cohort/models/classifier.h"
#include "cohort/models/pretrained.h"

namespace cohort {
namespace {

/// All rows are scored in one packed forward.
void write_scores(const std::string& model_dir, bool is_sequence, const std::string& rows_path) {
  const HeadKind head = is_sequence ? HeadKind::kSequenceClassification : HeadKind::kTokenClassification;
  const auto decoder = load_pretrained(model_dir, at::kFloat, at::kCPU, head);
  std::vector<std::vector<int32_t>> sequences;
  for (JsonlReader rows(rows_path); rows.next();) {
    sequences.push_back(rows.row().at("ids").get<std::vector<int32_t>>());
  }
  const at::NoGradGuard no_grad;
  const at::Tensor scores =
      is_sequence ? sequence_scores(*decoder, sequences) : token_scores(*decoder, sequences);
  int64_t row = 0;
  for (const std::vector<int32_t>& sequence : sequences) {
    Json lines = Json::array();
    for (size_t i = 0; i < (is_sequence ? 1 : sequence.size()); ++i, ++row) {
      const at::Tensor values = scores[row].contiguous();
      lines.push_back(std::vector<float>(values.const_data_ptr<float>(),
                                         values.const_data_ptr<float>() + values.numel()));
    }
    std::cout << lines.dump() << "\n";
  }
}

}  // namespace
}  // namespace cohort

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: head_scores MODEL_DIR sequence|token ROWS.jsonl\n";
    return 2;
  }
  try {
    cohort::write_scores(argv[1], argv[2] == std::string("sequence"), argv[3]);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
}
