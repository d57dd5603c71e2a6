// The names that mathematics knows: LaTeX commands, plain words, Unicode signs.
#pragma once

#include <optional>
#include <string_view>

namespace cohort::answers {

/// What a command means to the lexer.
enum class CommandKind {
  kIgnored,      ///< spacing, sizes: \, \left \displaystyle
  kText,         ///< takes words: \text \textbf \operatorname
  kFont,         ///< takes mathematics: \mathbf \boldsymbol
  kSymbol,       ///< a variable or constant
  kPunctuation,  ///< another spelling of a plain sign
  kFunction,     ///< of one argument, with or without parentheses
  kStructure,    ///< read by the parser: \frac \sqrt \begin
  kUnsupported,  ///< known, and beyond this verifier: \int \sum \lim
};

struct Command {
  CommandKind kind;
  std::string_view meaning;  ///< the name after aliases: dfrac is frac, \times is *
};

/// A LaTeX command without its backslash; nothing for unknown names.
std::optional<Command> find_command(std::string_view name);

/// A plain word with a meaning of its own: sin, sqrt, pi, infinity; nothing for other words.
std::optional<Command> find_word(std::string_view word);

/// Is the meaning of a command a currency: $, euro, won?
bool is_currency(std::string_view meaning);

/// The LaTeX text for the Unicode sign at the start of `text`; an empty one for a sign that is ignored.
/// `length` is the sign's number of bytes. Nothing for other characters.
std::optional<std::string_view> find_sign(std::string_view text, size_t& length);

/// Is a run of plain letters a word of a language rather than a product of variables?
bool is_wordy(std::string_view run);

}  // namespace cohort::answers
