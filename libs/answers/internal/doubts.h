// What words behind an answer do to it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "libs/answers/internal/prose.h"

namespace cohort::answers {

/// Why the words right behind a value, from the piece at `begin` on, make another value of it: "at least",
/// "and a half", "or more"; empty where they do not.
std::string find_change(const std::vector<Piece>& pieces, size_t begin);

/// Why they deny it: "is wrong", "(wrong)", ", which is not correct"; empty where they do not.
std::string find_denial(const std::vector<Piece>& pieces, size_t begin);

/// Both, of a text that begins with a value: "12 is wrong".
std::string find_fault_of(std::string_view text);

/// Why the words at the end of the pieces deny a value behind them: "is not", "rather than", "I do not think
/// it is"; empty where they do not.
std::string find_denial_before(const std::vector<Piece>& pieces);

/// Is this "but" part of "anything but", which takes nothing back?
bool is_exclusion(const std::vector<Piece>& pieces, size_t position);

/// Perhaps there are 9, it might be 9; but not the condition of "if x = 3, then 9".
bool leaves_open(const std::vector<Piece>& pieces, size_t position);

/// Romanian and Finnish words that deny only before "is": "nu" is "now" in Dutch and Swedish, "Ei" an egg.
bool denies_verb(const std::vector<Piece>& pieces, size_t position);

}  // namespace cohort::answers
