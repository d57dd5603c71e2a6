// cohort serve: a model behind OpenAI's and Anthropic's HTTP interfaces.
#include <csignal>
#include <filesystem>

#include "apps/cli/command.h"
#include "apps/cli/generation.h"
#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/core/memory.h"
#include "cohort/core/time_text.h"
#include "cohort/http/access.h"
#include "cohort/serve/answer_task.h"
#include "cohort/serve/api_server.h"
#include "cohort/serve/model_service.h"

namespace cohort::cli {
namespace {

struct ServeConfig {
  ServeConfig() { generation.dtype = "bfloat16"; }

  GenerationConfig generation;
  std::string host = "127.0.0.1";
  int64_t port = 8000;
  std::string api_key;
  std::string served_model_name;

  void describe(FieldVisitor& f) {
    generation.describe_model(f);
    f("host", host, "Address to listen at. Others than 127.0.0.1 need an api_key.");
    f("port", port, "Port to listen at; 0 takes a free one.", between(0, 65535));
    f("api_key", api_key, "What clients must send as their API key; empty: nothing.");
    f("served_model_name", served_model_name,
      "What requests give as \"model\"; empty: the name of the model's directory.");
    generation.describe_cache(f);
    f("threads", generation.threads,
      "CPU threads; 0 takes OMP_NUM_THREADS where that is set, else all cores. Changes no result.",
      at_least(0));
  }

  void settle() const {
    if (!is_loopback(host) && api_key.empty())
      throw ConfigError(
          str("host ", host, " lets other machines in: set --api-key, or take --host 127.0.0.1"));
  }
};

volatile std::sig_atomic_t is_interrupted = 0;

void interrupt(int) { is_interrupted = 1; }

/// Pages for `cache_tokens`; if that is 0, for 64 whole contexts, up to a quarter of the machine's memory.
int64_t num_pages(const GenerationConfig& config, const Decoder& decoder) {
  const DecoderConfig& model = decoder.config();
  const int64_t context_pages = model.context_length / kPageRows + 2;
  if (config.cache_tokens > 0) return config.cache_tokens / kPageRows;
  const int64_t page_bytes = kPageRows * KvCache::bytes_per_row(model, decoder.compute_dtype());
  return std::max(context_pages, std::min(64 * context_pages, physical_memory_bytes() / 4 / page_bytes));
}

std::string name_of(const ServeConfig& config) {
  if (!config.served_model_name.empty()) return config.served_model_name;
  const std::filesystem::path path = std::filesystem::weakly_canonical(
      config.generation.adapter.empty() ? config.generation.model : config.generation.adapter);
  return path.filename().string();
}

}  // namespace

int serve_command(const Command& self, const Arguments& arguments) {
  ServeConfig config;
  if (!read_flags(self, arguments, config)) return 0;
  GenerationConfig& generation = config.generation;
  require(generation.model, "model");
  const LoadedModel loaded = load_model(generation);
  if (!loaded.tokenizer)
    throw FormatError(str(generation.model, ": has no tokenizer.json, which the endpoints need"));
  take_sampling_defaults(generation.model, generation);
  const DecoderConfig& model = loaded.decoder->config();
  loaded.decoder->plan_length(model.context_length);

  ServedModel served =
      describe_served(name_of(config), model, *loaded.tokenizer,
                      text_format(*loaded.tokenizer, generation.model, present_time(), generation.text));
  if (has_chat_template(generation))
    served.calls = &tool_call_format_of(served.format.template_source(/*with_tools=*/true));
  served.defaults = sampling_params(generation, loaded);

  ModelService service(*loaded.decoder, *loaded.tokenizer, num_pages(generation, *loaded.decoder));
  ServerCounts counts;
  ApiServer api(served, counts, config.api_key, [&](ApiCall call) {
    std::make_shared<AnswerTask>(service, served, counts, std::move(call))->start();
  });
  std::signal(SIGINT, interrupt);
  std::signal(SIGTERM, interrupt);
  HttpServer http(config.host, config.port, {},
                  [&](const IncomingRequest& request, const auto& answer) { api.handle(request, answer); });
  log_info("serving ", served.name, " at http://", config.host, ":", http.port(), "/v1");
  service.run([] { return is_interrupted != 0; });
  http.stop();
  return 0;
}

}  // namespace cohort::cli
