#include "cohort/rewards/code_block.h"

#include <algorithm>
#include <cctype>

#include "libs/common/ascii.h"

namespace cohort {
namespace {

struct Fence {
  char mark = 0;
  size_t length = 0;
  size_t indent = 0;
  std::string_view info{};
};

std::optional<Fence> read_fence(std::string_view line) {
  Fence fence;
  while (fence.indent < line.size() && (line[fence.indent] == ' ' || line[fence.indent] == '\t'))
    ++fence.indent;
  std::string_view rest = line.substr(fence.indent);
  if (rest.empty() || (rest[0] != '`' && rest[0] != '~')) return std::nullopt;
  fence.mark = rest[0];
  while (fence.length < rest.size() && rest[fence.length] == fence.mark) ++fence.length;
  fence.info = trim(rest.substr(fence.length));
  const bool is_inline = fence.mark == '`' && fence.info.find('`') != std::string_view::npos;
  if (fence.length < 3 || is_inline) return std::nullopt;
  return fence;
}

// The language of "python", "{.python}", "Python title=x".
std::string tag_of(std::string_view info) {
  while (!info.empty() && (info[0] == '{' || info[0] == '.')) info.remove_prefix(1);
  std::string tag;
  for (char c : info.substr(0, info.find_first_of(" \t,{}:"))) {
    tag += static_cast<char>(tolower(static_cast<unsigned char>(c)));
  }
  return tag;
}

// A block inside a list is indented with it.
std::string_view unindent(std::string_view line, size_t indent) {
  size_t num_blanks = 0;
  while (num_blanks < indent && num_blanks < line.size() &&
         (line[num_blanks] == ' ' || line[num_blanks] == '\t'))
    ++num_blanks;
  return line.substr(num_blanks);
}

std::string_view take_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string take_block(std::string_view& text, const Fence& open) {
  std::string block;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    const std::optional<Fence> fence = read_fence(line);
    if (fence && fence->mark == open.mark && fence->length >= open.length && fence->info.empty()) break;
    block += unindent(line, open.indent);
    block += '\n';
  }
  return block;
}

}  // namespace

std::optional<std::string> last_code_block(std::string_view text, const std::vector<std::string>& tags) {
  std::optional<std::string> tagged, untagged;
  while (!text.empty()) {
    const std::optional<Fence> fence = read_fence(take_line(text));
    if (!fence) continue;
    const std::string tag = tag_of(fence->info);
    std::string block = take_block(text, *fence);
    if (tag.empty()) {
      untagged = std::move(block);
    } else if (std::find(tags.begin(), tags.end(), tag) != tags.end()) {
      tagged = std::move(block);
    }
  }
  return tagged ? tagged : untagged;
}

}  // namespace cohort
