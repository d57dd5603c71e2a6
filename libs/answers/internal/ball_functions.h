// The functions of mathematics on balls.
#pragma once

#include <string_view>
#include <vector>

#include "libs/answers/internal/ball.h"

namespace cohort::answers {

/// Is |value| certainly below 2^64? Beyond, exponentials and periods cost as many bits as the exponent has.
bool is_moderate(const Ball& value);

/// The function `name` of `arguments`, written to `result`. False for names it doesn't know and for arguments
/// beyond its limits.
bool apply_function(std::string_view name, const std::vector<Ball>& arguments, bool has_common_log,
                    int64_t precision, Ball& result);

}  // namespace cohort::answers
