#include "cohort/env/turn_format.h"

#include <algorithm>
#include <ranges>

#include "cohort/core/error.h"
#include "cohort/text/chat_template.h"

namespace cohort {
namespace {

constexpr const char* kExampleReply = "reply";

/// The length of `text` without the white space at its end.
size_t trimmed_length(std::string_view text) {
  const size_t last = text.find_last_not_of(" \t\r\n");
  return last == std::string_view::npos ? 0 : last + 1;
}

/// Turns of the policy that have the calls of `turn` and next to no text: enough for a template to place the
/// replies. Some templates drop a turn's thinking only if it has none, and some want arguments as text.
std::vector<Json> placeholders(const AssistantMessage& turn) {
  std::vector<Json> candidates;
  for (const bool thinks : {false, true}) {
    for (const Json& arguments : {Json::object(), Json("{}")}) {
      Json message = to_json({.content = "", .tool_calls = turn.tool_calls});
      if (thinks) message["reasoning_content"] = "-";
      if (const auto calls = message.find("tool_calls"); calls != message.end()) {
        for (Json& call : *calls) call["function"]["arguments"] = arguments;
      }
      candidates.push_back(std::move(message));
    }
  }
  return candidates;
}

}  // namespace

TurnFormat::TurnFormat(TextFormat format, const Tokenizer& tokenizer, const ToolCallFormat& calls, Json tools,
                       std::vector<int32_t> stop_ids)
    : format_(std::move(format)),
      tokenizer_(tokenizer),
      calls_(calls),
      tools_(std::move(tools)),
      stop_ids_(std::move(stop_ids)) {
  const auto [turn, reply] = example();
  const std::vector<int32_t> ids =
      reply_ids(turn, stop_ids_.empty() ? -1 : stop_ids_.front(), Json::array({reply}));
  if (tokenizer_.decode(ids, {.skip_special_tokens = false}).find(kExampleReply) == std::string::npos) {
    throw TemplateError(str("the chat template leaves out what a message of role ", reply["role"],
                            " says: name a template for training as model.chat_template"));
  }
}

/// A turn and the message that answers it.
std::pair<AssistantMessage, Json> TurnFormat::example() const {
  AssistantMessage turn;
  Json reply = {{"role", tools_.is_null() ? "user" : "tool"}, {"content", kExampleReply}};
  if (!tools_.is_null()) {
    reply["name"] = tools_.front().at("function").at("name");
    turn.tool_calls.push_back({.name = reply["name"].get<std::string>()});
  }
  return {std::move(turn), std::move(reply)};
}

bool TurnFormat::keeps_turns() const {
  auto [turn, reply] = example();
  turn.content = "content";
  turn.reasoning_content = "reasoning";
  Json conversation = Json::array({{{"role", "user"}, {"content", "-"}}});
  std::vector<std::string> shorter;
  std::string whole;
  try {
    for (int i = 0; i < 2; ++i) {
      conversation.push_back(to_json(turn));
      shorter.push_back(render(conversation, false));
      conversation.push_back(reply);
    }
    whole = render(conversation, false);
  } catch (const TemplateError&) {
    return true;  // it refuses the example, which says nothing of the run's conversations
  }
  return std::ranges::all_of(shorter, [&](const std::string& text) {
    return whole.compare(0, trimmed_length(text), text, 0, trimmed_length(text)) == 0;
  });
}

bool TurnFormat::is_stop(int32_t id) const { return std::ranges::count(stop_ids_, id) > 0; }

AssistantMessage TurnFormat::read(std::span<const int32_t> ids) const {
  if (!ids.empty() && is_stop(ids.back())) ids = ids.first(ids.size() - 1);
  return parse_turn(calls_, tokenizer_.decode(ids, {.skip_special_tokens = false}), tools_);
}

bool TurnFormat::marks_calls() const {
  return !calls_.call_open.empty() && !parse_turn(calls_, calls_.call_open, tools_).tool_calls.empty();
}

std::optional<CallPlace> TurnFormat::first_call(std::span<const int32_t> ids) const {
  if (!marks_calls()) return std::nullopt;
  const auto first_text = [&](int64_t count) {
    return tokenizer_.decode(ids.first(count), {.skip_special_tokens = false});
  };
  const auto size = std::ssize(ids);
  const std::string text = first_text(size);
  AssistantMessage unused;
  const std::string_view rest = take_reasoning(calls_, text, unused);
  const size_t found = rest.find(calls_.call_open);
  if (found == std::string_view::npos) return std::nullopt;
  const size_t begin = rest.data() - text.data() + found;
  const auto tokens_beyond = [&](size_t length) {  // how many tokens have more than `length` bytes of text
    const auto counts = std::views::iota(int64_t{0}, size + 1);
    return *std::ranges::partition_point(counts,
                                         [&](int64_t count) { return first_text(count).size() <= length; });
  };
  return CallPlace{tokens_beyond(begin) - 1, tokens_beyond(begin + calls_.call_open.size() - 1), size};
}

std::string TurnFormat::text(std::span<const int32_t> ids) const { return tokenizer_.decode(ids); }

bool TurnFormat::shows_tools() const {
  const Json conversation = Json::array({{{"role", "user"}, {"content", "-"}}});
  try {
    return tools_.is_null() || render(conversation, true) != render(conversation, true, nullptr);
  } catch (const TemplateError&) {
    return true;  // it refuses the example, which says nothing of the run's conversations
  }
}

std::string TurnFormat::render(const Json& messages, bool add_generation_prompt, const Json& tools) const {
  return format_.render(messages, {.add_generation_prompt = add_generation_prompt,
                                   .tools = tools,
                                   .chat_template_kwargs = format_.chat_template_kwargs});
}

std::vector<int32_t> TurnFormat::reply_ids(const AssistantMessage& turn, int32_t last_id,
                                           const Json& messages) const {
  Json reply = messages;
  for (Json& message : reply) {
    const std::string content = message.value("content", std::string());
    message["content"] = tokenizer_.without_special_tokens(content);
  }
  std::string fault;
  for (const Json& candidate : placeholders(turn)) {
    try {
      return format_.tokenize_rendered(reply_text(candidate, last_id, reply));
    } catch (const TemplateError& error) {
      if (fault.empty()) fault = error.what();
    }
  }
  throw TemplateError(fault);
}

std::string TurnFormat::reply_text(const Json& turn, int32_t last_id, const Json& reply) const {
  Json conversation = Json::array({{{"role", "user"}, {"content", "-"}}, turn});
  const std::string before = render(conversation, false);
  conversation.insert(conversation.end(), reply.begin(), reply.end());
  const std::string whole = render(conversation, true);
  std::string stop_text;
  const size_t end = end_of_turn(before, whole, last_id, stop_text);
  std::string_view rest = std::string_view(whole).substr(end);
  if (!stop_text.empty() && rest.starts_with(stop_text)) rest.remove_prefix(stop_text.size());
  return std::string(rest);
}

// Where the policy's turn ends in the rendered conversation: behind the stop token that it sampled. If it
// ended otherwise, before the stop token of the template, which then follows unsampled.
size_t TurnFormat::end_of_turn(const std::string& turn, const std::string& whole, int32_t last_id,
                               std::string& stop_text) const {
  const size_t length = trimmed_length(turn);
  if (whole.compare(0, length, turn, 0, length) != 0) {
    throw TemplateError(
        "the chat template renders a turn of the assistant otherwise when a reply follows: name a template "
        "for "
        "training as model.chat_template");
  }
  if (is_stop(last_id)) stop_text = tokenizer_.token(last_id).value_or("");
  const std::string_view shown = std::string_view(turn).substr(0, length);
  if (!stop_text.empty() && shown.ends_with(stop_text)) {
    stop_text.clear();
    return length;
  }
  for (const int32_t id : stop_ids_) {
    const std::string stop = tokenizer_.token(id).value_or("");
    if (!stop.empty() && shown.ends_with(stop)) {
      stop_text.clear();
      return length - stop.size();
    }
  }
  return length;
}

std::vector<int32_t> TurnFormat::opened_prompt(const Prompt& prompt, const std::string& observation) const {
  const auto found = prompt.fields.find("prompt_messages");
  if (found == prompt.fields.end()) {
    throw FormatError(str(prompt.id,
                          ": the environment's reset() returns a text, which needs a prompt of "
                          "messages to stand in"));
  }
  Json messages = *found;
  Json& content = messages.back()["content"];
  if (content.is_array()) {
    content.push_back({{"type", "text"}, {"text", observation}});
  } else {
    content = (content.is_string() ? content.get<std::string>() : "") + observation;
  }
  return format_.tokenize_rendered(render(messages, true));
}

}  // namespace cohort
