// Which part of an assert may be evaluated beside the program under test. What runs there can be replaced and
// read by the program: so it must hold nothing that is expected, and decide nothing.
#pragma once

#include <string_view>

namespace cohort {

enum class SubjectUse {
  kValue,    ///< compared, outside, with a value that can't be guessed
  kVerdict,  ///< compared with True, False or None: all that is evaluated is the call itself
  kTruth,    ///< only true or false: a plain call
};

/// Throws FormatError unless `text` is a call of the program's own,
///   f(INPUTS)   Class(INPUTS).method(INPUTS)   f(INPUTS)[2].name   decode(encode("x"))
/// where no input calls more than constructors, or, for kValue and kVerdict, one such in a conversion that
/// takes nothing else: set, sorted, list, len, str, round(.., 2), "".join and the like, or a list or tuple of
/// such.
void check_subject(std::string_view text, SubjectUse use);

}  // namespace cohort
