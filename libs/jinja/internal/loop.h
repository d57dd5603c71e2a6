// The special variable `loop`.
#pragma once

#include "libs/jinja/internal/interpreter.h"

namespace cohort::jinja {

/// The next item, or nothing at the end; keeps `loop`'s figures.
std::optional<Value> advance(Runtime& runtime, LoopState& state);

/// `loop` itself. `state` and `interpreter` outlive it.
Value make_loop(Interpreter& interpreter, LoopState& state);

}  // namespace cohort::jinja
