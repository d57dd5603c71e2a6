#include "libs/answers/internal/symbols.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "libs/common/ascii.h"

namespace cohort::answers {
namespace {

using Table = std::unordered_map<std::string_view, Command>;

void add_names(Table& table, CommandKind kind, std::string_view names) {
  while (!names.empty()) {
    const size_t end = std::min(names.find(' '), names.size());
    const std::string_view name = names.substr(0, end);
    table[name] = {kind, name};
    names.remove_prefix(std::min(end + 1, names.size()));
  }
}

constexpr std::string_view kFunctions =
    "sin cos tan cot sec csc arcsin arccos arctan arccot sinh cosh tanh arcsinh arccosh arctanh exp ln log "
    "lg abs floor ceil";

struct Alias {
  std::string_view name;
  CommandKind kind;
  std::string_view meaning;
};

constexpr Alias kAliases[] = {
    {"dfrac", CommandKind::kStructure, "frac"},
    {"tfrac", CommandKind::kStructure, "frac"},
    {"cfrac", CommandKind::kStructure, "frac"},
    {"dbinom", CommandKind::kStructure, "binom"},
    {"tbinom", CommandKind::kStructure, "binom"},
    {"nicefrac", CommandKind::kStructure, "frac"},
    {"sfrac", CommandKind::kStructure, "frac"},
    {"cr", CommandKind::kStructure, "\\"},
    {"dots", CommandKind::kStructure, "ldots"},
    {"cdots", CommandKind::kStructure, "ldots"},
    {"mod", CommandKind::kStructure, "pmod"},
    {"bmod", CommandKind::kStructure, "pmod"},
    {"overrightarrow", CommandKind::kStructure, "vec"},
    {"textdollar", CommandKind::kStructure, "$"},
    {"surd", CommandKind::kStructure, "sqrt"},
    {"Bbb", CommandKind::kStructure, "mathbb"},
    {"fbox", CommandKind::kFont, "boxed"},
    {"times", CommandKind::kPunctuation, "times"},
    {"cdot", CommandKind::kPunctuation, "*"},
    {"ast", CommandKind::kPunctuation, "*"},
    {"div", CommandKind::kPunctuation, "/"},
    {"le", CommandKind::kPunctuation, "<="},
    {"leq", CommandKind::kPunctuation, "<="},
    {"leqslant", CommandKind::kPunctuation, "<="},
    {"leqq", CommandKind::kPunctuation, "<="},
    {"ge", CommandKind::kPunctuation, ">="},
    {"geq", CommandKind::kPunctuation, ">="},
    {"geqslant", CommandKind::kPunctuation, ">="},
    {"geqq", CommandKind::kPunctuation, ">="},
    {"ne", CommandKind::kPunctuation, "!="},
    {"neq", CommandKind::kPunctuation, "!="},
    {"lt", CommandKind::kPunctuation, "<"},
    {"gt", CommandKind::kPunctuation, ">"},
    {"approx", CommandKind::kPunctuation, "approx"},
    {"simeq", CommandKind::kPunctuation, "approx"},
    {"equiv", CommandKind::kPunctuation, "equiv"},
    {"pm", CommandKind::kPunctuation, "+-"},
    {"mp", CommandKind::kPunctuation, "-+"},
    {"colon", CommandKind::kPunctuation, ":"},
    {"lbrace", CommandKind::kPunctuation, "\\{"},
    {"rbrace", CommandKind::kPunctuation, "\\}"},
    {"lbrack", CommandKind::kPunctuation, "["},
    {"rbrack", CommandKind::kPunctuation, "]"},
    {"vert", CommandKind::kPunctuation, "|"},
    {"lvert", CommandKind::kPunctuation, "|"},
    {"rvert", CommandKind::kPunctuation, "|"},
    {"mid", CommandKind::kPunctuation, "mid"},
    {"langle", CommandKind::kPunctuation, "("},
    {"rangle", CommandKind::kPunctuation, ")"},
    {"lparen", CommandKind::kPunctuation, "("},
    {"rparen", CommandKind::kPunctuation, ")"},
    {"backslash", CommandKind::kPunctuation, "setminus"},
    {"setminus", CommandKind::kPunctuation, "setminus"},
    {"cup", CommandKind::kPunctuation, "cup"},
    {"cap", CommandKind::kPunctuation, "cap"},
    {"in", CommandKind::kPunctuation, "in"},
    {"land", CommandKind::kPunctuation, "land"},
    {"wedge", CommandKind::kPunctuation, "land"},
    {"lor", CommandKind::kPunctuation, "lor"},
    {"vee", CommandKind::kPunctuation, "lor"},
    {"prime", CommandKind::kPunctuation, "'"},
    {"degree", CommandKind::kPunctuation, "degree"},
    {"hundredth", CommandKind::kPunctuation, "hundredth"},
    {"permille", CommandKind::kPunctuation, "permille"},
    {"textperthousand", CommandKind::kPunctuation, "permille"},
    {"permyriad", CommandKind::kPunctuation, "permyriad"},
    {"textpertenthousand", CommandKind::kPunctuation, "permyriad"},
    {"circ", CommandKind::kPunctuation, "degree"},
    {"textdegree", CommandKind::kPunctuation, "degree"},
    {"lVert", CommandKind::kPunctuation, "|"},
    {"rVert", CommandKind::kPunctuation, "|"},
    {"varphi", CommandKind::kSymbol, "phi"},
    {"varepsilon", CommandKind::kSymbol, "epsilon"},
    {"infty", CommandKind::kSymbol, "infinity"},
    {"varnothing", CommandKind::kSymbol, "empty set"},
    {"emptyset", CommandKind::kSymbol, "empty set"},
    {"R", CommandKind::kSymbol, "reals"},
    {"tg", CommandKind::kFunction, "tan"},
    {"ctg", CommandKind::kFunction, "cot"},
    {"cosec", CommandKind::kFunction, "csc"},
    {"arctg", CommandKind::kFunction, "arctan"},
    {"asin", CommandKind::kFunction, "arcsin"},
    {"acos", CommandKind::kFunction, "arccos"},
    {"atan", CommandKind::kFunction, "arctan"},
    {"arsinh", CommandKind::kFunction, "arcsinh"},
    {"arcosh", CommandKind::kFunction, "arccosh"},
    {"artanh", CommandKind::kFunction, "arctanh"},
};

Table make_commands() {
  Table table;
  add_names(
      table, CommandKind::kIgnored,
      ", ; : ! quad qquad left right big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr middle "
      "displaystyle textstyle scriptstyle limits nolimits rm bf it thinspace large Large LARGE huge Huge "
      "small "
      "normalsize checkmark blacksquare square therefore");
  add_names(table, CommandKind::kText,
            "text textbf textit textrm textsf texttt textnormal mbox hbox mathrm operatorname");
  add_names(table, CommandKind::kFont,
            "mathbf mathit mathsf mathcal mathtt boldsymbol bm emph underline boxed");
  add_names(table, CommandKind::kSymbol,
            "alpha beta gamma delta epsilon zeta eta theta vartheta iota kappa lambda mu nu xi "
            "rho sigma "
            "tau upsilon phi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega "
            "pi ell "
            "hbar");
  add_names(table, CommandKind::kFunction, kFunctions);
  add_names(table, CommandKind::kStructure,
            "frac sqrt binom choose over overline bar dot vec hat tilde begin end angle triangle ldots pmod "
            "lfloor rfloor lceil rceil "
            "mathbb \\ euro "
            "pounds yen rupees $ won ruble lira dong baht hryvnia naira peso shekel tenge franc yuan");
  add_names(
      table, CommandKind::kUnsupported,
      "int iint oint sum prod lim max min sup inf gcd lcm det partial nabla to rightarrow Rightarrow implies "
      "iff "
      "vdots ddots perp parallel subset subseteq forall "
      "exists neg sim cong not");
  for (const Alias& alias : kAliases) table[alias.name] = {alias.kind, alias.meaning};
  return table;
}

Table make_words() {
  Table table;
  add_names(table, CommandKind::kFunction, kFunctions);
  add_names(table, CommandKind::kStructure, "sqrt");
  add_names(table, CommandKind::kSymbol, "pi infinity");
  for (const Alias& alias : kAliases) {
    if (alias.kind == CommandKind::kFunction) table[alias.name] = {alias.kind, alias.meaning};
  }
  table["inf"] = {CommandKind::kSymbol, "infinity"};
  table["and"] = {CommandKind::kPunctuation, "and"};
  table["or"] = {CommandKind::kPunctuation, "or"};
  return table;
}

struct Sign {
  std::string_view bytes;
  std::string_view latex;
};

constexpr Sign kSigns[] = {
#define COHORT_SIGN(sign, latex) {sign, latex},
#include "libs/answers/internal/unicode_signs.def"
#undef COHORT_SIGN
};

std::optional<Command> find_in(const Table& table, std::string_view name) {
  const auto found = table.find(name);
  if (found == table.end()) return std::nullopt;
  return found->second;
}

}  // namespace

bool is_currency(std::string_view meaning) {
  constexpr std::string_view kCurrencies[] = {"$",     "euro",   "pounds", "yen",   "rupees",  "won",
                                              "ruble", "lira",   "dong",   "baht",  "hryvnia", "naira",
                                              "peso",  "shekel", "tenge",  "franc", "yuan"};
  return std::find(std::begin(kCurrencies), std::end(kCurrencies), meaning) != std::end(kCurrencies);
}

std::optional<Command> find_command(std::string_view name) {
  static const Table table = make_commands();
  return find_in(table, name);
}

std::optional<Command> find_word(std::string_view word) {
  static const Table table = make_words();
  return find_in(table, word);
}

std::optional<std::string_view> find_sign(std::string_view text, size_t& length) {
  for (const Sign& sign : kSigns) {
    if (text.substr(0, sign.bytes.size()) != sign.bytes) continue;
    length = sign.bytes.size();
    return sign.latex;
  }
  return std::nullopt;
}

bool is_wordy(std::string_view run) {
  const std::string lower = lower_case(run);
  for (std::string_view word : {"no", "is", "of", "to", "so", "we", "if"}) {
    if (lower == word) return true;
  }
  if (lower.size() < 3) return false;
  return lower.size() > 4 || lower.find_first_of("eiou") != std::string::npos;
}

}  // namespace cohort::answers
