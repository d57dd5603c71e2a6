// Unicode's normalization forms with the tables of Hugging Face's tokenizers, as changes to an AlignedText.
#pragma once

#include <string_view>
#include <vector>

#include "cohort/text/aligned_text.h"

namespace cohort {

enum class UnicodeForm { kNfc, kNfd, kNfkc, kNfkd };

/// Whether `text` is certain to be in the form already; true for ASCII.
bool is_in_form(std::string_view text, UnicodeForm form);

/// The characters of `text` in the form; O(n log n) whatever the text.
std::vector<CharChange> changes_to_form(std::string_view text, UnicodeForm form);

}  // namespace cohort
