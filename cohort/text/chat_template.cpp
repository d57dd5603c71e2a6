#include "cohort/text/chat_template.h"

#include <algorithm>

#include "cohort/core/error.h"
#include "libs/jinja/python_text.h"
#include "libs/jinja/template.h"

namespace cohort {
namespace {

/// What transformers puts behind the message that is to be continued, to find its end in the text.
constexpr const char* kContinueTag = "CONTINUE_FINAL_MESSAGE_TAG ";
constexpr const char* kReasoningFields[] = {"reasoning_content", "thinking", "reasoning"};

/// A message without its null values, with its reasoning under the names that templates read.
Json normalized(const Json& message) {
  Json result = Json::object();
  for (const auto& [key, value] : message.items())
    if (!value.is_null()) result[key] = value;
  for (const char* field : kReasoningFields) {
    if (!result.contains(field)) continue;
    const Json reasoning = result[field];
    Json aliased = {{"thinking", reasoning}};
    aliased.update(result);
    aliased["reasoning_content"] = reasoning;
    return aliased;
  }
  return result;
}

Json normalized_messages(const Json& messages) {
  if (!messages.is_array()) throw TemplateError("\"messages\" must be a list of messages");
  if (messages.empty())
    throw TemplateError("Cannot apply chat template to an empty conversation. Provide at least one message.");
  Json result = Json::array();
  for (const Json& message : messages) {
    if (!message.is_object()) throw TemplateError("\"messages\" holds something else than an object");
    result.push_back(normalized(message));
  }
  return result;
}

void check_tools(const Json& tools) {
  if (tools.is_null()) return;
  if (!tools.is_array()) throw TemplateError("\"tools\" must be a list of JSON schemas");
  for (const Json& tool : tools)
    if (!tool.is_object()) throw TemplateError("\"tools\" holds something else than an object");
}

/// The bytes that a request's values take, by which the budget grows.
int64_t size_of(const Json& value) {
  if (value.is_string()) return static_cast<int64_t>(value.get_ref<const std::string&>().size()) + 16;
  int64_t size = 16;
  if (value.is_array()) {
    for (const Json& item : value) size += size_of(item);
  } else if (value.is_object()) {
    for (const auto& [key, item] : value.items()) size += static_cast<int64_t>(key.size()) + size_of(item);
  }
  return size;
}

/// Long conversations may take more, in proportion.
jinja::RenderOptions options_for(int64_t size, const std::tm& now) {
  jinja::RenderOptions options;
  options.now = now;
  options.limits.steps += 50 * size;
  options.limits.bytes += 100 * size;
  options.limits.output_bytes += 20 * size;
  return options;
}

void append_tag(Json& text) {
  if (!text.is_string()) throw TemplateError("the message to continue must be a string");
  text = text.get<std::string>() + kContinueTag;
}

/// Marks the end of the final message's `field`; returns the text to be continued.
std::string mark_final_message(Json& message, const std::string& field, const std::string& source) {
  if (!message.contains(field)) {
    throw TemplateError(
        str("continue_final_message is set but the final message has no \"", field, "\" to continue!"));
  }
  const Json content = message[field];
  std::vector<std::string> fields = {field};
  if (std::find(std::begin(kReasoningFields), std::end(kReasoningFields), field) !=
      std::end(kReasoningFields)) {
    fields.clear();
    for (const char* other : kReasoningFields)
      if (message.contains(other) && message[other] == content) fields.emplace_back(other);
  }
  const auto is_read = [&](const std::string& name) { return source.find(name) != std::string::npos; };
  if (std::none_of(fields.begin(), fields.end(), is_read)) {
    throw TemplateError(str("continue_final_message is set to \"", field,
                            "\" but this is not an accepted field in the chat_template"));
  }
  if (!content.is_array()) {
    for (const std::string& name : fields) append_tag(message[name]);
    return content.is_string() ? content.get<std::string>() : "";
  }
  for (size_t i = content.size(); i-- > 0;) {
    if (!content[i].is_object())
      throw TemplateError("the message to continue holds something else than objects");
    if (!content[i].contains("text")) continue;
    for (const std::string& name : fields) append_tag(message[name][i]["text"]);
    return content[i]["text"].get<std::string>();
  }
  throw TemplateError(
      "continue_final_message is set but we could not find any text to continue in the final message!");
}

std::string stripped(std::string_view text) { return std::string(jinja::strip(text, jinja::Sides::kBoth)); }

/// The rendered text up to the mark.
std::string cut_at_tag(const std::string& text, const std::string& final_message) {
  const std::string tag = kContinueTag;
  const size_t place = text.rfind(stripped(tag));
  if (place == std::string::npos || text.find(stripped(final_message)) == std::string::npos) {
    throw TemplateError(
        "continue_final_message is set but the final message does not appear in the chat after applying the "
        "chat template! This can happen if the chat template deletes portions of the final message.");
  }
  if (text.compare(place, tag.size(), tag) == 0) return text.substr(0, place);
  return std::string(jinja::strip(std::string_view(text).substr(0, place), jinja::Sides::kRight));
}

jinja::Rendered render_template(const jinja::Template& chat, const Json& variables,
                                const jinja::RenderOptions& options) {
  try {
    return chat.render(variables, options);
  } catch (const jinja::TemplateError& error) {
    throw TemplateError(error.what());
  }
}

void check_request(const ChatRequest& request) {
  check_tools(request.tools);
  if (!request.continue_final_message.empty() && request.add_generation_prompt)
    throw TemplateError("continue_final_message and add_generation_prompt are not compatible");
  if (!request.variables.is_object()) throw TemplateError("the template's variables must be an object");
  for (const char* name : {"messages", "tools", "add_generation_prompt", "continue_final_message",
                           "conversation", "chat_template", "tokenize"}) {
    if (request.variables.contains(name))
      throw TemplateError(str("\"", name, "\" can't be a variable of the template"));
  }
}

}  // namespace

struct ChatTemplate::Source {
  std::string text;
  jinja::Template parsed;
};

ChatTemplate::ChatTemplate(const std::map<std::string, std::string>& templates, Json special_tokens)
    : special_tokens_(std::move(special_tokens)) {
  for (const auto& [name, text] : templates) {
    try {
      add(name, text);
    } catch (const TemplateError& error) {
      throw TemplateError(str("chat template \"", name, "\": ", error.what()));
    }
  }
}

void ChatTemplate::add(const std::string& name, const std::string& text) {
  try {
    templates_.emplace(name, std::make_shared<const Source>(Source{text, jinja::Template(text)}));
  } catch (const jinja::TemplateError& error) {
    throw TemplateError(error.what());
  }
}

const ChatTemplate::Source& ChatTemplate::choose(bool with_tools) const {
  auto it = with_tools ? templates_.find("tool_use") : templates_.end();
  if (it == templates_.end()) it = templates_.find("default");
  if (it == templates_.end()) {
    std::string names;
    for (const auto& [name, source] : templates_) names += (names.empty() ? "" : ", ") + name;
    throw TemplateError(str("there is no chat template \"default\", only ", names));
  }
  return *it->second;
}

const std::string& ChatTemplate::source(bool with_tools) const { return choose(with_tools).text; }

bool ChatTemplate::marks_generations(bool with_tools) const {
  return choose(with_tools).parsed.marks_generations();
}

bool ChatTemplate::reads_content_parts(bool with_tools) const {
  return choose(with_tools).parsed.loops_over_content();
}

RenderedChat ChatTemplate::render(const ChatRequest& request, const std::tm& now) const {
  check_request(request);
  const Source& source = choose(!request.tools.is_null());
  Json messages = normalized_messages(request.messages);
  const std::string& field = request.continue_final_message;
  const std::string final_message =
      field.empty() ? "" : mark_final_message(messages.back(), field, source.text);
  Json variables = {{"documents", nullptr}};
  variables.update(special_tokens_);
  variables.update(request.variables);
  variables["messages"] = std::move(messages);
  variables["tools"] = request.tools;
  variables["add_generation_prompt"] = request.add_generation_prompt;
  const int64_t size = size_of(variables) + static_cast<int64_t>(source.text.size());
  jinja::Rendered rendered = render_template(source.parsed, variables, options_for(size, now));
  if (!field.empty()) return {cut_at_tag(rendered.text, final_message), {}};
  RenderedChat chat{std::move(rendered.text), {}};
  for (const jinja::GeneratedSpan& span : rendered.generated)
    chat.generated.push_back({span.start, span.end});
  return chat;
}

std::optional<PrefixBreak> ChatTemplate::find_prefix_break(const ChatRequest& request,
                                                           const std::tm& now) const {
  ChatRequest whole = request;
  whole.add_generation_prompt = false;
  const std::string text = render(whole, now).text;
  const auto breaks_at = [&](size_t num_messages, bool with_prompt) -> std::optional<PrefixBreak> {
    ChatRequest shorter = request;
    shorter.messages.erase(shorter.messages.begin() + num_messages, shorter.messages.end());
    shorter.add_generation_prompt = with_prompt;
    std::string prefix;
    try {
      prefix = render(shorter, now).text;
    } catch (const TemplateError&) {
      return std::nullopt;
    }
    const auto parted = std::mismatch(prefix.begin(), prefix.end(), text.begin(), text.end()).first;
    if (parted == prefix.end()) return std::nullopt;
    return PrefixBreak{num_messages, with_prompt, static_cast<size_t>(parted - prefix.begin())};
  };
  for (size_t i = 0; i < request.messages.size(); ++i) {
    const Json& message = request.messages[i];
    if (!message.contains("role") || message["role"] != "assistant") continue;
    if (i > 0) {
      if (const auto found = breaks_at(i, true)) return found;
    }
    if (i + 1 == request.messages.size()) continue;
    if (const auto found = breaks_at(i + 1, false)) return found;
  }
  return std::nullopt;
}

}  // namespace cohort
