// Announcements in scripts without blanks: Chinese, Japanese, Korean, Thai.
#pragma once

#include <string>
#include <string_view>

namespace cohort::choice {

enum class Stance {
  kNone,
  kStated,
  kApproved,
  kDenied,
  kDoubted,
  kTurned,  ///< "but", 而是: the answer, if what stands before it was denied
};

/// What the words right before a letter say of it: "答案是" states it, "排除" denies it. Blanks and brackets
/// are left out, colons stay.
Stance stance_before(std::string_view words);

/// What the words right behind it say: "正确" approves, "は誤り" denies.
Stance stance_behind(std::string_view words);

/// Can these words follow a letter that an announcement named, as "です" and "项" do? Others make a word of
/// letter and words: "B細胞".
bool may_follow(std::string_view words);

/// kCondition for "如果" and the like at the beginning of the words, kConclude for "所以".
unsigned unspaced_roles(std::string_view words);

/// The conclusion with which words end before a comma: "よって"; empty where there is none.
std::string concluding_end(std::string_view words);

/// Does the word join two letters, as "和" does?
bool is_unspaced_join(std::string_view word);

}  // namespace cohort::choice
