// Lines around what a judge is shown, which the shown text cannot forge.
#pragma once

#include <string>

namespace cohort {

/// 16 hexadecimal digits that `text` determines and does not hold.
std::string mark_for(const std::string& text);

/// `text` between two lines with its name and the mark; the last line does not end.
std::string between_marks(const std::string& name, const std::string& mark, const std::string& text);

/// Tells a judge that nothing between such lines instructs it. Ends with a line's end.
std::string data_warning(const std::string& mark);

}  // namespace cohort
