#include "cohort/train/run/loss_result.h"

#include "cohort/rl/batch_fields.h"
#include "cohort/rl/byte_archive.h"

namespace cohort {
namespace {

template <typename Archive, typename Result>
void describe_numbers(Archive& a, Result& result) {
  a(result.rows.prompt);
  a(result.rows.completion);
  a(result.rows.repeated_prompt);
  a(result.entropy_sum);
  a(result.num_forwarded_tokens);
  a(result.logprob_difference_sum);
  a(result.logprob_difference_max);
  a(result.length_preference_gradient);
  a(result.is_finite);
}

}  // namespace

void add_loss(const LossResult& more, LossResult& total) {
  total.objective.add(more.objective);
  total.rows.add(more.rows);
  total.entropy_sum += more.entropy_sum;
  if (more.aux_loss) total.aux_loss = total.aux_loss.value_or(0.0) + *more.aux_loss;
  total.num_forwarded_tokens += more.num_forwarded_tokens;
  total.logprob_difference_sum += more.logprob_difference_sum;
  const double largest = more.logprob_difference_max;
  if (!(largest <= total.logprob_difference_max)) total.logprob_difference_max = largest;  // a NaN, too
  if (total.is_finite && !more.is_finite) {
    total.is_finite = false;
    total.nonfinite = more.nonfinite;
  }
}

std::string to_bytes(const LossResult& result) {
  ByteWriter writer;
  describe_numbers(writer, result);
  writer(result.aux_loss.has_value());
  writer(result.aux_loss.value_or(0.0));
  result.objective.write(writer);
  Group nonfinite;
  for (const Completion& completion : result.nonfinite) nonfinite.samples.push_back({completion});
  writer(fields_of(nonfinite));
  return writer.bytes;
}

LossResult loss_result_from(const std::string& bytes) {
  ByteReader reader(bytes);
  LossResult result;
  describe_numbers(reader, result);
  bool has_aux_loss = false;
  double aux_loss = 0.0;
  reader(has_aux_loss);
  reader(aux_loss);
  if (has_aux_loss) result.aux_loss = aux_loss;
  result.objective.read(reader);
  std::string nonfinite;
  reader(nonfinite);
  for (Sample& sample : group_from(nonfinite).samples)
    result.nonfinite.push_back(std::move(sample.completion));
  return result;
}

}  // namespace cohort
