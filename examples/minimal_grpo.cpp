// GRPO (arXiv:2402.03300) in its plainest form: padding, attention as a matrix, no cache, no shared prompts,
// one process, autograd for every gradient. It is the executable specification that the engine is compared
// with, so it uses none of the engine's parts but the file readers. Read `train` first; the rest follows in
// the order of its calls.
//
//   minimal_grpo MODEL_DIR JOB.json OUTPUT_DIR
//
// MODEL_DIR is a Hugging Face directory of a Llama, Qwen2 or Qwen3 model; `Job` below lists the keys of
// JOB.json. Writes OUTPUT_DIR/result.json, OUTPUT_DIR/gradients.safetensors (of the last step, before
// clipping) and OUTPUT_DIR/weights.safetensors. Legend: P prompts, G completions each, B = P * G rows, T
// padded length of a row, L padded length of a completion, V vocabulary, H heads, D dimensions of a head.
#include <ATen/ATen.h>

#include <cmath>
#include <iostream>
#include <map>

#include "cohort/core/error.h"
#include "cohort/core/json.h"
#include "cohort/tensor/weight_files.h"

namespace cohort {
namespace {

using TokenRow = std::vector<int64_t>;
using NumberRows = std::vector<std::vector<double>>;

// The keys of JOB.json with their defaults.
struct Job {
  Json json;
  std::vector<TokenRow> prompts = json.at("prompts");    // [P]
  int64_t num_generations = json.at("num_generations");  // G
  // Fixed batches, step after step: `completions` [num_steps * B], those of one prompt side by side,
  // `rewards` (null: none), `old_logprobs` and, when beta is not 0, `ref_logprobs`. Without it the program
  // samples.
  std::vector<TokenRow> completions = json.value("completions", std::vector<TokenRow>());
  std::string dtype = json.value("dtype", "float32");                // or float64
  std::string loss_type = json.value("loss_type", "grpo");           // or dapo, dr_grpo
  std::string scale_rewards = json.value("scale_rewards", "group");  // or batch, none
  double beta = json.value("beta", 0.0);
  double epsilon = json.value("epsilon", 0.2);
  double epsilon_high = json.value("epsilon_high", epsilon);
  double temperature = json.value("temperature", 1.0);
  double learning_rate = json.value("learning_rate", 1e-3);
  double max_grad_norm = json.value("max_grad_norm", 1.0);
  int64_t max_completion_length = json.value("max_completion_length", int64_t{16});
  int64_t eos_token_id = json.value("eos_token_id", int64_t{-1});
  int64_t num_steps = json.value("num_steps", int64_t{1});
  int64_t num_iterations = json.value("num_iterations", int64_t{1});
  int64_t seed = json.value("seed", int64_t{1});
};

struct Model {
  Json config;
  std::map<std::string, at::Tensor> weights;  // by Hugging Face name
};

struct Rollouts {
  std::vector<TokenRow> prompts;      // [B]
  std::vector<TokenRow> completions;  // [B]
  std::vector<double> rewards;        // [B], NaN where there is none
  NumberRows old_logprobs;            // [B] rows as long as the completions
  NumberRows ref_logprobs;            // empty when beta is 0
};

struct AdamState {
  std::map<std::string, at::Tensor> mean, square;
  int64_t count = 0;
};

Rollouts read_or_sample_rollouts(const Model& policy, const Model& reference, const Job& job, int64_t step);
double reward_of(const TokenRow& completion);
at::Tensor group_advantages(const Rollouts& rollouts, const Job& job);
at::Tensor completion_logprobs(const Model& model, const Rollouts& rollouts, double temperature);
at::Tensor grpo_loss(const at::Tensor& policy_logprobs, const Rollouts& rollouts,
                     const at::Tensor& advantages, const Job& job);
double adam_step(Model& policy, AdamState& adam, const Job& job);
std::vector<double> numbers_of(const at::Tensor& vector);
NumberRows rows_of(const at::Tensor& padded_rows, const std::vector<TokenRow>& completions);

// prompt -> rollout -> reward -> advantage -> loss -> step
Json train(Model& policy, const Model& reference, const Job& job) {
  AdamState adam;
  Json result;
  for (int64_t step = 1; step <= job.num_steps; ++step) {
    const Rollouts rollouts = read_or_sample_rollouts(policy, reference, job, step);
    const at::Tensor advantages = group_advantages(rollouts, job);
    for (int64_t iteration = 0; iteration < job.num_iterations; ++iteration) {
      for (auto& [name, weight] : policy.weights) weight.mutable_grad() = at::Tensor();
      const at::Tensor policy_logprobs = completion_logprobs(policy, rollouts, job.temperature);
      const at::Tensor loss = grpo_loss(policy_logprobs, rollouts, advantages, job);
      loss.backward();
      const double grad_norm = adam_step(policy, adam, job);
      result = {{"loss", loss.item<double>()},
                {"grad_norm", grad_norm},
                {"reward", at::nanmean(at::tensor(rollouts.rewards, at::kDouble)).item<double>()},
                {"rewards", rollouts.rewards},
                {"advantages", numbers_of(advantages)},
                {"completions", rollouts.completions},
                {"old_logprobs", rollouts.old_logprobs},
                {"policy_logprobs", rows_of(policy_logprobs, rollouts.completions)}};
    }
    std::cout << "step " << step << ": reward " << result["reward"] << ", loss " << result["loss"]
              << ", grad_norm " << result["grad_norm"] << "\n";
  }
  return result;
}

// Rows of different length as one tensor, with 0 beyond the end of each.
template <typename T>
at::Tensor padded(const std::vector<std::vector<T>>& rows, at::ScalarType dtype) {
  std::vector<at::Tensor> tensors;
  tensors.reserve(rows.size());
  for (const auto& row : rows) tensors.push_back(at::tensor(row, dtype));
  return at::pad_sequence(tensors, /*batch_first=*/true);
}

at::Tensor forward(const Model& model, const at::Tensor& token_ids);

Rollouts read_or_sample_rollouts(const Model& policy, const Model& reference, const Job& job, int64_t step) {
  const at::NoGradGuard no_grad;
  Rollouts rollouts;
  for (const TokenRow& prompt : job.prompts)
    rollouts.prompts.insert(rollouts.prompts.end(), job.num_generations, prompt);
  if (!job.completions.empty()) {
    for (size_t row = (step - 1) * rollouts.prompts.size(); row < step * rollouts.prompts.size(); ++row) {
      const Json& reward = job.json.at("rewards").at(row);
      rollouts.rewards.push_back(reward.is_null() ? std::nan("") : reward.get<double>());
      rollouts.completions.push_back(job.completions.at(row));
      rollouts.old_logprobs.push_back(job.json.at("old_logprobs").at(row));
      if (job.beta != 0.0) rollouts.ref_logprobs.push_back(job.json.at("ref_logprobs").at(row));
    }
    return rollouts;
  }
  std::vector<TokenRow> rows = rollouts.prompts;
  rollouts.completions.resize(rows.size());
  rollouts.old_logprobs.resize(rows.size());
  for (int64_t t = 0; t < job.max_completion_length; ++t) {
    const at::Tensor logits = forward(policy, padded(rows, at::kLong)) / job.temperature;
    for (size_t b = 0; b < rows.size(); ++b) {
      if (t > 0 && rows[b].back() == job.eos_token_id) continue;
      const at::Tensor logprobs = logits[b][rows[b].size() - 1].log_softmax(-1);  // [V], of the next token
      const int64_t token = at::multinomial(logprobs.exp(), 1).item<int64_t>();
      rows[b].push_back(token);
      rollouts.completions[b].push_back(token);
      rollouts.old_logprobs[b].push_back(logprobs[token].item<double>());
    }
  }
  for (const TokenRow& completion : rollouts.completions) rollouts.rewards.push_back(reward_of(completion));
  if (job.beta == 0.0) return rollouts;
  const at::Tensor ref_logprobs = completion_logprobs(reference, rollouts, job.temperature);
  rollouts.ref_logprobs = rows_of(ref_logprobs, rollouts.completions);
  return rollouts;
}

// A task that even a random model can learn: the share of even token ids.
double reward_of(const TokenRow& completion) {
  double even = 0.0;
  for (int64_t token : completion) even += token % 2 == 0 ? 1.0 : 0.0;
  return even / static_cast<double>(completion.size());
}

// [B] float64: A = (r - mean) / (std + 1e-4) over the rewards that exist; 0 where there is none, and in
// groups whose rewards are all the same number.
at::Tensor group_advantages(const Rollouts& rollouts, const Job& job) {
  const auto existing = [](const at::Tensor& values) { return values.masked_select(values.isfinite()); };
  const at::Tensor rewards =
      at::tensor(rollouts.rewards, at::kDouble).unflatten(0, {-1, job.num_generations});
  const at::Tensor advantages = at::zeros_like(rewards);
  for (int64_t p = 0; p < rewards.size(0); ++p) {
    const at::Tensor group = existing(rewards[p]);
    if (group.numel() == 0 || group.min().item<double>() == group.max().item<double>()) continue;
    at::Tensor advantage = rewards[p] - group.mean();
    if (job.scale_rewards == "group") advantage = advantage / (group.std() + 1e-4);
    if (job.scale_rewards == "batch") advantage = advantage / (existing(rewards).std() + 1e-4);
    advantages[p].copy_(advantage.nan_to_num(0.0));
  }
  return advantages.flatten();
}

at::Tensor linear(const Model& model, const std::string& name, const at::Tensor& x) {
  const auto bias = model.weights.find(name + ".bias");
  const at::Tensor y = x.matmul(model.weights.at(name + ".weight").t());
  return bias == model.weights.end() ? y : y + bias->second;
}

at::Tensor rms_norm(const Model& model, const std::string& name, const at::Tensor& x) {
  const double eps = model.config.at("rms_norm_eps").get<double>();
  return model.weights.at(name + ".weight") * (x * at::rsqrt(x.square().mean(-1, true) + eps));
}

// Rotary position embedding of x [B, H, T, D]: dimension i turns together with dimension i + D / 2.
at::Tensor rotate(const at::Tensor& x, double theta) {
  const int64_t num_positions = x.size(2), half = x.size(3) / 2;
  const at::Tensor exponents = at::arange(half, x.options()) / static_cast<double>(half);
  const at::Tensor angles = at::outer(at::arange(num_positions, x.options()), at::pow(theta, -exponents));
  const at::Tensor cos = angles.cos(), sin = angles.sin();
  const at::Tensor first = x.narrow(3, 0, half), second = x.narrow(3, half, half);
  return at::cat({first * cos - second * sin, second * cos + first * sin}, -1);
}

double rope_theta(const Json& config) {
  const Json& rope = config.contains("rope_parameters") ? config["rope_parameters"] : config;
  const bool scaled = config.contains("rope_scaling") && !config["rope_scaling"].is_null();
  if (scaled || rope.value("rope_type", "default") != "default")
    throw FormatError("scaled rope is not supported");
  return rope.value("rope_theta", 10000.0);
}

at::Tensor attention(const Model& model, const std::string& name, const at::Tensor& x) {
  const int64_t num_heads = model.config.at("num_attention_heads").get<int64_t>();
  const int64_t num_kv_heads = model.config.value("num_key_value_heads", num_heads);
  const auto heads = [&](const std::string& part, int64_t count) {
    at::Tensor y = linear(model, name + "." + part + "_proj", x).unflatten(-1, {count, -1});
    const std::string norm = name + "." + part + "_norm";  // Qwen3
    if (model.weights.count(norm + ".weight")) y = rms_norm(model, norm, y);
    return y.transpose(1, 2);
  };
  const double theta = rope_theta(model.config);
  const at::Tensor q = rotate(heads("q", num_heads), theta);
  const at::Tensor k = rotate(heads("k", num_kv_heads), theta).repeat_interleave(num_heads / num_kv_heads, 1);
  const at::Tensor v = heads("v", num_kv_heads).repeat_interleave(num_heads / num_kv_heads, 1);
  const at::Tensor future = at::ones({x.size(1), x.size(1)}, at::kBool).triu(1);
  const at::Tensor scores = q.matmul(k.transpose(2, 3)) / std::sqrt(static_cast<double>(q.size(3)));
  const at::Tensor mixed = scores.masked_fill(future, -INFINITY).softmax(-1).matmul(v);
  return linear(model, name + ".o_proj", mixed.transpose(1, 2).flatten(2));
}

// Logits [B, T, V] of token_ids [B, T]. Padding is on the right, where no earlier position can see it.
at::Tensor forward(const Model& model, const at::Tensor& token_ids) {
  at::Tensor x = at::embedding(model.weights.at("model.embed_tokens.weight"), token_ids);
  for (int64_t i = 0; i < model.config.at("num_hidden_layers").get<int64_t>(); ++i) {
    const std::string layer = str("model.layers.", i);
    x = x + attention(model, layer + ".self_attn", rms_norm(model, layer + ".input_layernorm", x));
    const at::Tensor h = rms_norm(model, layer + ".post_attention_layernorm", x);
    const at::Tensor gate = at::silu(linear(model, layer + ".mlp.gate_proj", h));
    x = x + linear(model, layer + ".mlp.down_proj", gate * linear(model, layer + ".mlp.up_proj", h));
  }
  x = rms_norm(model, "model.norm", x);
  const bool tied = model.config.value("tie_word_embeddings", false);
  return linear(model, tied ? "model.embed_tokens" : "lm_head", x);
}

// [B, L] log-probabilities of the completions' tokens at the sampling temperature, 0 beyond the end of each.
at::Tensor completion_logprobs(const Model& model, const Rollouts& rollouts, double temperature) {
  std::vector<TokenRow> rows = rollouts.prompts;
  for (size_t b = 0; b < rows.size(); ++b)
    rows[b].insert(rows[b].end(), rollouts.completions[b].begin(), rollouts.completions[b].end());
  const at::Tensor token_ids = padded(rows, at::kLong);
  const at::Tensor logprobs = (forward(model, token_ids) / temperature).log_softmax(-1);
  // The logits at position t are about token t + 1.
  const at::Tensor next_ids = token_ids.slice(1, 1).unsqueeze(2);
  const at::Tensor of_next = logprobs.slice(1, 0, -1).gather(2, next_ids).squeeze(2);
  std::vector<at::Tensor> result;
  for (size_t b = 0; b < rows.size(); ++b) {
    const auto length = static_cast<int64_t>(rollouts.completions[b].size());
    const auto first = static_cast<int64_t>(rollouts.prompts[b].size()) - 1;
    result.push_back(of_next[b].narrow(0, first, length));
  }
  return at::pad_sequence(result, /*batch_first=*/true);
}

// Equation 3 of arXiv:2402.03300, negated, with the k3 estimate of equation 4.
at::Tensor grpo_loss(const at::Tensor& policy_logprobs, const Rollouts& rollouts,
                     const at::Tensor& advantages, const Job& job) {
  const at::ScalarType dtype = policy_logprobs.scalar_type();
  std::vector<std::vector<double>> ones;
  ones.reserve(rollouts.completions.size());
  for (const TokenRow& completion : rollouts.completions) ones.emplace_back(completion.size(), 1.0);
  const at::Tensor mask = padded(ones, dtype);                     // [B, L]
  const at::Tensor advantage = advantages.to(dtype).unsqueeze(1);  // [B, 1]
  const at::Tensor ratio = (policy_logprobs - padded(rollouts.old_logprobs, dtype)).exp();
  const at::Tensor clipped = ratio.clamp(1.0 - job.epsilon, 1.0 + job.epsilon_high);
  at::Tensor loss = -at::minimum(ratio * advantage, clipped * advantage);
  if (job.beta != 0.0) {
    const at::Tensor x = padded(rollouts.ref_logprobs, dtype) - policy_logprobs;
    loss = loss + job.beta * (x.exp() - x - 1.0);
  }
  loss = loss * mask;
  if (job.loss_type == "dapo") return loss.sum() / mask.sum().clamp_min(1.0);
  if (job.loss_type == "dr_grpo") return (loss.sum(1) / job.max_completion_length).mean();
  return (loss.sum(1) / mask.sum(1).clamp_min(1.0)).mean();
}

// Adam (arXiv:1412.6980) without weight decay after clipping the gradient's norm; returns the norm before
// that.
double adam_step(Model& policy, AdamState& adam, const Job& job) {
  const at::NoGradGuard no_grad;
  double squares = 0.0;
  for (const auto& [name, w] : policy.weights) squares += w.grad().square().sum(at::kDouble).item<double>();
  const double scale = std::min(1.0, job.max_grad_norm / (std::sqrt(squares) + 1e-6));
  ++adam.count;
  const double mean_share = 1.0 - std::pow(0.9, adam.count), square_share = 1.0 - std::pow(0.999, adam.count);
  for (auto& [name, weight] : policy.weights) {
    const at::Tensor gradient = weight.grad() * scale;
    at::Tensor& mean = adam.mean.try_emplace(name, at::zeros_like(gradient)).first->second;
    at::Tensor& square = adam.square.try_emplace(name, at::zeros_like(gradient)).first->second;
    mean = 0.9 * mean + 0.1 * gradient;
    square = 0.999 * square + 0.001 * gradient.square();
    weight -= job.learning_rate * (mean / mean_share) / ((square / square_share).sqrt() + 1e-8);
  }
  return std::sqrt(squares);
}

std::vector<double> numbers_of(const at::Tensor& vector) {
  const at::Tensor values = vector.detach().to(at::kDouble).contiguous();
  return {values.const_data_ptr<double>(), values.const_data_ptr<double>() + values.numel()};
}

NumberRows rows_of(const at::Tensor& padded_rows, const std::vector<TokenRow>& completions) {
  NumberRows rows;
  for (size_t b = 0; b < completions.size(); ++b) {
    rows.push_back(numbers_of(padded_rows[b].narrow(0, 0, static_cast<int64_t>(completions[b].size()))));
  }
  return rows;
}

Model load_model(const std::filesystem::path& dir, at::ScalarType dtype) {
  Model model{read_json(dir / "config.json"), {}};
  const WeightReader reader = WeightReader::open(dir);
  for (const std::string& name : reader.names())
    model.weights[name] = reader.tensor(name).to(dtype).clone().requires_grad_();
  return model;
}

void run(const std::string& model_dir, const std::string& job_path, const std::filesystem::path& output_dir) {
  const Job job{read_json(job_path)};
  const at::ScalarType dtype = job.dtype == "float64" ? at::kDouble : at::kFloat;
  at::manual_seed(job.seed);
  Model policy = load_model(model_dir, dtype);
  const Json result = train(policy, load_model(model_dir, dtype), job);
  NamedTensors gradients;
  for (const auto& [name, weight] : policy.weights) gradients.emplace_back(name, weight.grad());
  std::filesystem::create_directories(output_dir);
  write_json(output_dir / "result.json", result);
  write_safetensors(output_dir / "gradients.safetensors", gradients);
  write_safetensors(output_dir / "weights.safetensors", {policy.weights.begin(), policy.weights.end()});
}

}  // namespace
}  // namespace cohort

int main(int argc, char** argv) {
  try {
    if (argc != 4) throw cohort::ConfigError("usage: minimal_grpo MODEL_DIR JOB.json OUTPUT_DIR");
    cohort::run(argv[1], argv[2], argv[3]);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "minimal_grpo: " << error.what() << "\n";
    return 2;
  }
}
