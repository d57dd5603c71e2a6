// Python asserts as tests: split, when they are loaded, into a call and what is expected of its value. Only
// the call goes into the sandbox, so that the program under test can neither see nor decide the outcome.
#pragma once

#include <string>
#include <string_view>

#include "cohort/rewards/code_test.h"

namespace cohort {

/// Understands, with an optional message and around parentheses:
///   assert CALL == LITERAL      assert LITERAL == CALL      assert CALL is None | True | False
///   assert CALL                 assert not CALL             (of a function of the program)
///   assert abs(CALL - NUMBER) < TOLERANCE                   assert math.isclose(CALL, NUMBER)
/// where CALL may be any expression with a call, such as sorted(f(1)). Throws FormatError saying why a text
/// is none of these.
CodeTest convert_assert(std::string_view text);

}  // namespace cohort
