#include "libs/answers/internal/units.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "libs/answers/internal/nouns.h"
#include "libs/common/ascii.h"

namespace cohort::answers {
namespace {

struct Entry {
  const char* name;
  int64_t numerator;  // of the factor to the base unit
  uint64_t denominator;
  const char* base;
  int power = 1;
};

constexpr Entry kUnits[] = {
    {"m", 1, 1, "m"},
    {"meter", 1, 1, "m"},
    {"metre", 1, 1, "m"},
    {"cm", 1, 100, "m"},
    {"centimeter", 1, 100, "m"},
    {"centimetre", 1, 100, "m"},
    {"mm", 1, 1000, "m"},
    {"millimeter", 1, 1000, "m"},
    {"dm", 1, 10, "m"},
    {"km", 1000, 1, "m"},
    {"kilometer", 1000, 1, "m"},
    {"kilometre", 1000, 1, "m"},
    {"inch", 127, 5000, "m"},
    {"in", 127, 5000, "m"},
    {"foot", 381, 1250, "m"},
    {"feet", 381, 1250, "m"},
    {"ft", 381, 1250, "m"},
    {"yard", 1143, 1250, "m"},
    {"yd", 1143, 1250, "m"},
    {"mile", 201168, 125, "m"},
    {"mi", 201168, 125, "m"},
    {"s", 1, 1, "s"},
    {"sec", 1, 1, "s"},
    {"second", 1, 1, "s"},
    {"min", 60, 1, "s"},
    {"minute", 60, 1, "s"},
    {"h", 3600, 1, "s"},
    {"hr", 3600, 1, "s"},
    {"hour", 3600, 1, "s"},
    {"day", 86400, 1, "s"},
    {"week", 604800, 1, "s"},
    {"ms", 1, 1000, "s"},
    {"kg", 1, 1, "kg"},
    {"kilogram", 1, 1, "kg"},
    {"g", 1, 1000, "kg"},
    {"gram", 1, 1000, "kg"},
    {"mg", 1, 1000000, "kg"},
    {"milligram", 1, 1000000, "kg"},
    {"lb", 45359237, 100000000, "kg"},
    {"pound", 45359237, 100000000, "kg"},
    {"ounce", 45359237, 1600000000, "kg"},
    {"oz", 45359237, 1600000000, "kg"},
    {"ton", 1000, 1, "kg"},
    {"L", 1, 1000, "m", 3},
    {"l", 1, 1000, "m", 3},
    {"liter", 1, 1000, "m", 3},
    {"litre", 1, 1000, "m", 3},
    {"mL", 1, 1000000, "m", 3},
    {"ml", 1, 1000000, "m", 3},
    {"milliliter", 1, 1000000, "m", 3},
    {"cc", 1, 1000000, "m", 3},
    {"dollar", 1, 1, "dollar"},
    {"usd", 1, 1, "dollar"},
    {"cent", 1, 100, "dollar"},
    {"euro", 1, 1, "euro"},
    {"pound sterling", 1, 1, "pound sterling"},
    {"yen", 1, 1, "yen"},
    {"degree", 1, 1, "degree"},
    {"degree C", 1, 1, "degree C"},
    {"degree F", 1, 1, "degree F"},
    {"arcminute", 1, 60, "degree"},
    {"arcsecond", 1, 3600, "degree"},
    {"radian", 1, 1, "radian"},
    {"rad", 1, 1, "radian"},
    {"unit", 1, 1, "unit"},
    {"month", 1, 1, "month"},
    {"year", 12, 1, "month"},
    {"hrs", 3600, 1, "s"},
    {"yds", 1143, 1250, "m"},
    {"lbs", 45359237, 100000000, "kg"},
    {"pts", 1, 1, "point"},
    {"pt", 1, 1, "point"},
    {"gallon", 473176473, 125000000000, "m", 3},
    {"gal", 473176473, 125000000000, "m", 3},
    {"quart", 473176473, 500000000000, "m", 3},
    {"qt", 473176473, 500000000000, "m", 3},
    {"pint", 473176473, 1000000000000, "m", 3},
    {"rupee", 1, 1, "rupee"},
    {"N", 1, 1, "N"},
    {"newton", 1, 1, "N"},
    {"kN", 1000, 1, "N"},
    {"J", 1, 1, "J"},
    {"joule", 1, 1, "J"},
    {"kJ", 1000, 1, "J"},
    {"W", 1, 1, "W"},
    {"watt", 1, 1, "W"},
    {"mW", 1, 1000, "W"},
    {"kW", 1000, 1, "W"},
    {"MW", 1000000, 1, "W"},
    {"V", 1, 1, "V"},
    {"volt", 1, 1, "V"},
    {"mV", 1, 1000, "V"},
    {"kV", 1000, 1, "V"},
    {"A", 1, 1, "A"},
    {"amp", 1, 1, "A"},
    {"ampere", 1, 1, "A"},
    {"mA", 1, 1000, "A"},
    {"Pa", 1, 1, "Pa"},
    {"pascal", 1, 1, "Pa"},
    {"mPa", 1, 1000, "Pa"},
    {"kPa", 1000, 1, "Pa"},
    {"MPa", 1000000, 1, "Pa"},
    {"Hz", 1, 1, "Hz"},
    {"hertz", 1, 1, "Hz"},
    {"kHz", 1000, 1, "Hz"},
    {"MHz", 1000000, 1, "Hz"},
    {"ohm", 1, 1, "ohm"},
    {"mol", 1, 1, "mol"},
    {"mole", 1, 1, "mol"},
    {"dB", 1, 1, "dB"},
    {"Omega", 1, 1, "ohm"},
    {"nm", 1, 1000000000, "m"},
    {"nanometer", 1, 1000000000, "m"},
    {"micrometer", 1, 1000000, "m"},
    {"microsecond", 1, 1000000, "s"},
    {"microgram", 1, 1000000000, "kg"},
    {"microliter", 1, 1000000000, "m", 3},
    {"microampere", 1, 1000000, "A"},
    {"microvolt", 1, 1000000, "V"},
    {"hectare", 10000, 1, "m", 2},
    {"acre", 316160658, 78125, "m", 2},
    {"pcs", 1, 1, "piece"},
    {"point", 1, 1, "point"},
    {"wk", 604800, 1, "s"},
    {"yr", 12, 1, "month"},
    {"decade", 120, 1, "month"},
    {"century", 1200, 1, "month"},
    {"bit", 1, 8, "byte"},
    {"byte", 1, 1, "byte"},
    {"KB", 1000, 1, "byte"},
    {"kB", 1000, 1, "byte"},
    {"MB", 1000000, 1, "byte"},
    {"GB", 1000000000, 1, "byte"},
    {"TB", 1000000000000, 1, "byte"},
    {"eur", 1, 1, "euro"},
    {"gbp", 1, 1, "pound sterling"},
    {"inr", 1, 1, "rupee"},
    {"GW", 1000000000, 1, "W"},
    {"GHz", 1000000000, 1, "Hz"},
    {"eV", 1, 1, "eV"},
    {"keV", 1000, 1, "eV"},
    {"MeV", 1000000, 1, "eV"},
    {"cal", 1, 1000, "kcal"},
    {"kcal", 1, 1, "kcal"},
    {"atm", 1, 1, "atm"},
    {"rpm", 1, 1, "rpm"},
    {"kWh", 3600000, 1, "J"},
#include "libs/answers/internal/foreign_units.def"
};

const Entry* find_exact(std::string_view name) {
  static const auto table = [] {
    std::unordered_map<std::string_view, const Entry*> entries;
    for (const Entry& entry : kUnits) entries[entry.name] = &entry;
    return entries;
  }();
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

const Entry* find_entry(std::string_view name) {
  if (const Entry* entry = find_exact(name)) return entry;
  if (name.size() < 3) return nullptr;
  const std::string lower = lower_case(name);
  if (const Entry* entry = find_exact(lower)) return entry;
  return find_exact(singular(lower));
}

bool consume(std::string_view& text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix) return false;
  text = trim(text.substr(prefix.size()));
  return true;
}

bool consume_behind_unit(std::string_view& name, std::string_view suffix) {
  if (!name.ends_with(suffix) || !find_entry(name.substr(0, name.size() - suffix.size()))) return false;
  name.remove_suffix(suffix.size());
  return true;
}

// The power that "square" or "cubic" before a name, or "squared" or "cubed" behind that of a unit, means.
int take_power(std::string_view& name) {
  if (consume(name, "square ") || consume(name, "sq ") || consume_behind_unit(name, " squared")) return 2;
  return consume(name, "cubic ") || consume(name, "cu ") || consume_behind_unit(name, " cubed") ? 3 : 1;
}

void multiply(Unit& unit, const Entry& entry, int power) {
  unit.factor = unit.factor * answers::power(Fraction(entry.numerator, entry.denominator), power);
  unit.dimension[entry.base] += entry.power * power;
}

// What mph and its like stand for; empty for other names.
std::string_view expand_rate(std::string_view name) {
  if (name == "mph") return "miles per hour";
  if (name == "kph" || name == "kmh") return "km per hour";
  return name == "mpg" ? "miles per gallon" : "";
}

// The name of what is counted without what says nothing of it: different ways are ways.
std::string_view noun(std::string_view name) {
  for (bool is_found = true; is_found;) {
    is_found = false;
    for (std::string_view adjective : {"different ", "distinct ", "possible ", "total ", "unique "}) {
      is_found = is_found || consume(name, adjective);
    }
  }
  return name;
}

// One name, perhaps after "square" or "cubic", to the power `sign`.
void multiply_named(Unit& unit, std::string_view name, int sign) {
  name = trim(name);
  const int power = take_power(name);
  const Entry* entry = find_entry(name);
  if (entry) return multiply(unit, *entry, sign * power);
  // Case tells mW from MW; words are the same in any.
  const bool is_symbol = name.size() <= 3 && lower_case(name) != name;
  unit.dimension[is_symbol ? std::string(name) : singular(lower_case(noun(name)))] += sign * power;
}

}  // namespace

bool is_unit_name(std::string_view name) {
  const size_t per = name.find(" per ");
  if (per != std::string_view::npos) {
    const std::string_view divisor = trim(name.substr(per + 5));
    if (!find_entry(divisor) && !may_be_counted(divisor)) return false;
  }
  name = name.substr(0, per);
  take_power(name);
  return !expand_rate(name).empty() || find_entry(name) != nullptr;
}

bool is_arithmetic_word(std::string_view word) {
  static const std::unordered_set<std::string_view> words = {
      "squared", "cubed",     "factorial",  "time",      "plus",    "minus",   "over",  "divided",
      "half",    "halve",     "third",      "fourth",    "quarter", "fifth",   "sixth", "eighth",
      "tenth",   "hundredth", "thousandth", "millionth", "point",   "root",    "power", "negative",
      "not",     "or",        "and",        "to",        "mod",     "seventh", "ninth", "twelfth",
      "base",    "billionth", "in",         "out"};
  const std::string lower = lower_case(word);
  return words.count(lower) > 0 || words.count(singular(lower)) > 0;
}

std::optional<std::string_view> find_part_word(std::string_view word) {
  static const std::unordered_map<std::string_view, std::string_view> words = {
      {"third", "3"},  {"fourth", "4"}, {"fifth", "5"},  {"sixth", "6"},       {"seventh", "7"},
      {"eighth", "8"}, {"ninth", "9"},  {"tenth", "10"}, {"hundredth", "100"}, {"thousandth", "1000"}};
  const auto found = words.find(singular(lower_case(word)));
  if (found == words.end()) return std::nullopt;
  return found->second;
}

Unit find_unit(std::string_view name) {
  if (const std::string_view rate = expand_rate(name); !rate.empty()) name = rate;
  Unit unit;
  const size_t per = name.find(" per ");
  multiply_named(unit, name.substr(0, per), 1);
  if (per != std::string_view::npos) multiply_named(unit, name.substr(per + 5), -1);
  return unit;
}

std::optional<std::string_view> find_number_word(std::string_view word) {
  static const std::unordered_map<std::string_view, std::string_view> words = {
      {"dozen", "12"},        {"hundred", "100"},        {"thousand", "1000"},
      {"million", "1000000"}, {"billion", "1000000000"}, {"trillion", "1000000000000"},
      {"lakh", "100000"},     {"crore", "10000000"},     {"gross", "144"},
      {"score", "20"},        {"bn", "1000000000"},
#include "libs/answers/internal/foreign_scales.def"
  };
  const std::string lower = lower_case(word);
  auto found = words.find(lower);
  if (found == words.end() && lower != "scores") found = words.find(singular(lower));  // those of a game
  if (found == words.end()) return std::nullopt;
  return found->second;
}

}  // namespace cohort::answers
