#include "cohort/env/retrieval_tool.h"

#include "cohort/core/error.h"
#include "cohort/core/exact_json.h"
#include "cohort/env/passages.h"
#include "cohort/env/search_index.h"
#include "cohort/env/tool_config.h"

namespace cohort {
namespace {

class RetrievalTool : public Tool {
 public:
  RetrievalTool(const std::string& name, const std::string& folder)
      : Tool(name, "Searches texts and returns the passages that fit the query best.",
             Json::parse(R"({"type": "object", "required": ["query"], "additionalProperties": false,
               "properties": {
                 "query": {"type": "string", "description": "Words to look for."},
                 "top_k": {"type": "integer", "minimum": 1, "maximum": 20,
                           "description": "How many passages to return, 3 if left out."}}})")) {
    for_each_passage(folder, [&](const Passage& passage) { index_.add(passage); });
    if (index_.size() == 0)
      throw ConfigError(str("tool.folder: ", folder, " has no text in files .txt, .md or .jsonl"));
    index_.finish();
  }

  ToolResult call(const Json& arguments, int64_t) override {
    Json results = Json::array();
    const int64_t top_k = arguments.value("top_k", Json(3)).get<int64_t>();
    for (Passage& found : index_.search(arguments.at("query").get<std::string>(), top_k))
      results.push_back({{"title", std::move(found.title)}, {"passage", std::move(found.text)}});
    return {to_json_text(results)};
  }

 private:
  SearchIndex index_;
};

}  // namespace

std::unique_ptr<Tool> make_retrieval_tool(const ToolConfig& config) {
  return std::make_unique<RetrievalTool>(config.name.empty() ? "search" : config.name, config.folder);
}

}  // namespace cohort
