// Python asserts as tests: split, when they are loaded, into a call and what is expected of its value. Only
// the call goes into the sandbox, so that the program under test can neither see nor decide the outcome.
#pragma once

#include <string>
#include <string_view>

#include "cohort/rewards/code_test.h"

namespace cohort {

/// Understands one statement, with an optional message, comments and around parentheses:
///   assert CALL == LITERAL      assert LITERAL == CALL      assert CALL is None | True | False
///   assert CALL                 assert not CALL
///   assert abs(CALL - NUMBER) < TOLERANCE   (or <=)
///   assert math.isclose(CALL, NUMBER, rel_tol=.., abs_tol=..)
/// where assert_subject.h says what CALL may be. Throws FormatError saying why a text is none of these.
CodeTest convert_assert(std::string_view text);

}  // namespace cohort
