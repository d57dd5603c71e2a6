// Sentences behind an answer that take it back, or offer another.
#pragma once

#include <string_view>

#include "libs/answers/internal/prose.h"

namespace cohort::answers {

/// Where a text takes back what was said before it, as "Wait, that is wrong" and "Correction: 13" do;
/// std::string_view::npos where it does not. "Wait," alone counts with `counts_pauses`.
size_t find_retraction(std::string_view behind, bool counts_pauses);

/// Does the sentence offer another answer: "Or 13", "Alternatively, 13", "It could also be 13"?
bool offers_another(const Sentence& sentence);

}  // namespace cohort::answers
