// cohort chat: a conversation with a model, in a terminal or from a pipe.
#include <unistd.h>

#include <iostream>
#include <optional>

#include "apps/cli/command.h"
#include "apps/cli/generation.h"
#include "apps/cli/terminal.h"
#include "cohort/core/error.h"
#include "cohort/core/time_text.h"
#include "cohort/sampler/sampler.h"
#include "cohort/tasks/text_format.h"
#include "cohort/text/text_stream.h"

namespace cohort::cli {
namespace {

struct ChatConfig {
  ChatConfig() {
    generation.dtype = "bfloat16";
    generation.include_stop_str_in_output = false;  // what ends a turn belongs to the template
  }

  GenerationConfig generation;

  void describe(FieldVisitor& f) {
    generation.describe_model(f);
    generation.describe_sampling(f);
    generation.describe_machine(f);
  }

  void settle() const { generation.settle(); }

  /// Where no flag says how to sample, the generation_config.json of the model, or of the adapter's base,
  /// does.
  void prepare(const ChatConfig& given) {
    if (given.generation.model.empty()) return;
    GenerationConfig place = given.generation;
    resolve_model(place);
    take_sampling_defaults(place.model, generation);
  }
};

class Chat {
 public:
  Chat(const ChatConfig& config, const LoadedModel& model)
      : config_(config.generation),
        model_(model),
        format_(text_format(*model.tokenizer, config_.model, present_time(), config_.text)),
        params_(sampling_params(config_, model)),
        sampler_(*model.decoder, model.tokenizer.get(), config_.cache_tokens),
        is_terminal_(isatty(STDIN_FILENO) == 1) {
    check_stop_strings(params_.stop_strings, model.tokenizer.get());
    if (is_terminal_) interrupts_.emplace();
    reset();
  }

  void run() {
    LineReader lines(STDIN_FILENO, interrupts_ ? &*interrupts_ : nullptr);
    note(str(config_.model, ", ", sampling_text(config_),
             "\n/reset begins a new conversation, Ctrl-C interrupts an answer, Ctrl-D ends the program.\n"));
    while (true) {
      note("\n> ");
      std::string line;
      const LineResult result = lines.read(line);
      if (result == LineResult::kEnd) break;
      if (result == LineResult::kInterrupted) {
        note("\nCtrl-D ends the program.");
      } else if (line == "/reset") {
        reset();
      } else if (line.find_first_not_of(" \t") != std::string::npos) {
        take_turn(line);
      }
    }
    note("\n");
  }

 private:
  void reset() { messages_ = Json::array(); }

  void add_message(const char* role, const std::string& text) {
    messages_.push_back({{"role", role}, {"content", text}});
  }

  /// A turn that can't be answered leaves the conversation; without a terminal it ends the program.
  void take_turn(const std::string& text) {
    const Json before = messages_;
    add_message("user", text);
    try {
      answer();
    } catch (const UserError& error) {
      if (!is_terminal_) throw;
      messages_ = before;
      note(str("cohort: ", error.what(), "\n"));
    }
  }

  void answer() {
    const Prompt prompt = make_prompt();
    if (num_answers_ == 0) check_room(model_, {prompt}, config_);
    plan_length(model_, {prompt}, config_);
    RolloutAddress address = rollout_address(config_);
    address.first_prompt = static_cast<uint64_t>(num_answers_++);
    TextStream stream(*model_.tokenizer, params_.stop_strings);
    bool is_interrupted = false;
    const Completion completion = sampler_.stream(prompt, params_, address, [&](const SampledToken& token) {
      std::cout << stream.push(token.id) << std::flush;
      is_interrupted = interrupts_ && interrupts_->take();
      return !is_interrupted;
    });
    check_finite(completion.sampler_logprobs, config_.model);
    std::cout << stream.finish(completion.text) << '\n' << std::flush;
    add_message("assistant", completion.text);
    if (is_interrupted) {
      note("[interrupted]\n");
    } else if (completion.finish_reason == FinishReason::kLength) {
      write_note(
          str("[cut after ", completion.token_ids.size(), " tokens by ", limit_text(completion), "]\n"));
    }
  }

  Prompt make_prompt() const {
    const std::string where = "the conversation";
    const Prompt prompt = to_prompt({{{"prompt", messages_}}, where, where}, format_);
    const int64_t context = model_.decoder->config().context_length;
    if (std::ssize(prompt.token_ids) >= context) {
      throw FormatError(str(where, " has ", prompt.token_ids.size(),
                            " tokens and fills the model's context of ", context,
                            "; /reset begins a new one"));
    }
    return prompt;
  }

  const char* limit_text(const Completion& completion) const {
    return std::ssize(completion.token_ids) < config_.max_completion_length ? "the model's context"
                                                                            : "max_completion_length";
  }

  /// What is for a person at a terminal alone.
  void note(const std::string& text) const {
    if (is_terminal_) write_note(text);
  }

  static void write_note(const std::string& text) { std::cerr << text << std::flush; }

  const GenerationConfig& config_;
  const LoadedModel& model_;
  TextFormat format_;
  SamplingParams params_;
  Sampler sampler_;
  bool is_terminal_;
  std::optional<Interrupts> interrupts_;
  Json messages_;
  int64_t num_answers_ = 0;
};

}  // namespace

int chat_command(const Command& self, const Arguments& arguments) {
  ChatConfig config;
  if (!read_flags(self, arguments, config)) return 0;
  const std::string& model_dir = config.generation.model;
  require(model_dir, "model");
  const LoadedModel model = load_model(config.generation);
  if (!has_chat_template(config.generation)) {
    throw FormatError(
        str(model_dir,
            ": has no chat template (chat_template.jinja, or \"chat_template\" in "
            "tokenizer_config.json); cohort sample --model DIR --prompt TEXT continues plain text"));
  }
  if (!model.tokenizer)
    throw FormatError(str(model_dir, ": has no tokenizer.json, which a conversation needs"));
  Chat(config, model).run();
  return 0;
}

}  // namespace cohort::cli
