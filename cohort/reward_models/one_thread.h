// Models beside generation: they must not take the cores from it.
#pragma once

namespace cohort {

/// Lets torch compute on the calling thread alone, as long as that thread lives; others keep their number.
void compute_on_one_thread();

}  // namespace cohort
