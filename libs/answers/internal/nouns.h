// What is counted: the words behind a number that are no unit of a table, such as "slices of pizza".
#pragma once

#include <string>
#include <string_view>

namespace cohort::answers {

/// The name of one of them in small letters: box for boxes, city for cities, child for children. Only for
/// comparing names: movies and movie are both movy.
std::string singular(std::string name);

/// May they name what a number counts? Not where a word among them could deny the number, doubt it or make
/// another one of it.
bool may_be_counted(std::string_view words);

/// The same for words of other scripts: 个苹果, but not 以上.
bool may_be_counted_abroad(std::string_view words);

/// `words` without what says nothing of the value at their end: years old, apples left, 5 in total.
std::string_view without_remark(std::string_view words);

}  // namespace cohort::answers
