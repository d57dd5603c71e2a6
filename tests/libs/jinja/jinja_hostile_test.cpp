// Templates that would take all time or memory, or reach for what the sandbox keeps from them: each is
// refused within its budget.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "libs/jinja/template.h"

namespace cohort::jinja {
namespace {

const Json kVariables = {{"messages", {{{"role", "user"}, {"content", "hello"}}}}, {"s", "abc"}};

/// The message of the TemplateError that `action` throws; "nothing thrown" otherwise.
std::string error_of(const auto& action) {
  try {
    action();
  } catch (const TemplateError& error) {
    return error.what();
  }
  return "nothing thrown";
}

std::string repeated(const std::string& text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

std::string refusal(const std::string& source) {
  return error_of([&] { Template(source).render(kVariables, {}); });
}

/// Loops, recursion and texts that grow: stopped by the budgets of steps, memory, output and depth.
const std::vector<std::string> kBombs = {
    "{% for a in range(100000) %}{% for b in range(100000) %}{% for c in range(100000) %}{% endfor %}{% "
    "endfor %}{% endfor %}",
    "{% for a in range(100000) %}{% for b in range(100000) %}{% set x = 1 %}{% endfor %}{% endfor %}",
    "{% for a in range(1000000000) %}{% endfor %}",
    "{% for a in range(99999) if false %}{% endfor %}{% for a in range(99999) %}{% for b in range(99999) if "
    "false %}{% endfor %}{% endfor %}",
    "{% set ns = namespace(s='x') %}{% for i in range(99) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
    "{% set ns = namespace(s='x') %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
    "{% set ns = namespace(s='x') %}{% for i in range(99) %}{% set ns.s = ns.s * 2 %}{% endfor %}",
    "{% set ns = namespace(s='x') %}{% for i in range(99) %}{% set ns.s = ns.s|replace('x', 'xx') %}{% "
    "endfor %}",
    "{% set ns = namespace(s='x') %}{% for i in range(99) %}{% set ns.s = ns.s.replace('x', 'xxxx') %}{% "
    "endfor %}",
    "{% set ns = namespace(s='x') %}{% for i in range(99) %}{% set ns.s = [ns.s, ns.s]|join %}{% endfor %}",
    "{% set ns = namespace(s='x') %}{% for i in range(99) %}{% set ns.s = '%s%s' % (ns.s, ns.s) %}{% endfor "
    "%}",
    "{% set ns = namespace(s='x') %}{% for i in range(99) %}{% set ns.s = '{}{}'.format(ns.s, ns.s) %}{% "
    "endfor %}",
    "{% set ns = namespace(s='<') %}{% for i in range(99) %}{% set ns.s = ns.s|forceescape %}{% endfor %}{% "
    "for i in range(99999) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
    "{% set ns = namespace(s='x') %}{% for i in range(99) %}{% set ns.s %}{{ ns.s }}{{ ns.s }}{% endset %}{% "
    "endfor %}",
    "{% set ns = namespace(l=[1]) %}{% for i in range(99) %}{% set ns.l = ns.l + ns.l %}{% endfor %}",
    "{% set ns = namespace(l=[1]) %}{% for i in range(99) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l "
    "}}",
    "{% set ns = namespace(l=[1]) %}{% for i in range(99) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ "
    "ns.l|tojson }}",
    "{% set ns = namespace(l=[1], m=[1]) %}{% for i in range(99) %}{% set ns.l = [ns.l, ns.l] %}{% set ns.m "
    "= [ns.m, ns.m] %}{% endfor %}{{ ns.l == ns.m }}",
    "{% set ns = namespace(d={}) %}{% for i in range(99) %}{% set ns.d = {'a': ns.d, 'b': ns.d} %}{% endfor "
    "%}{{ ns.d }}",
    "{% set ns = namespace(t=(1,)) %}{% for i in range(99) %}{% set ns.t = (ns.t, ns.t) %}{% endfor %}{{ "
    "{ns.t: 1} }}",
    "{% set ns = namespace(l=[]) %}{% for i in range(99999) %}{% set ns.l = [ns.l] %}{% endfor %}",
    "{% set ns = namespace(d={}) %}{% for i in range(99999) %}{% set ns.d = {'k': ns.d} %}{% endfor %}",
    "{% set ns = namespace(g=[1]) %}{% for i in range(99999) %}{% set ns.g = ns.g|map('trim') %}{% endfor "
    "%}{{ ns.g|list }}",
    "{% set ns = namespace(g=[1]) %}{% for i in range(99999) %}{% set ns.g = ns.g|select %}{% endfor %}{{ "
    "ns.g|list }}",
    "{% set ns = namespace(g='x') %}{% for i in range(99999) %}{% set ns.g = joiner(ns.g) %}{% endfor %}",
    "{% set ns = namespace() %}{% set ns.a = ns %}{{ ns }}",
    "{% set ns = namespace() %}{% set ns.a = [ns] %}{{ ns.a == ns.a ~ '' }}{{ ns.a }}",
    "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}",
    "{% macro f() %}{{ g() }}{% endmacro %}{% macro g() %}{{ f() }}{% endmacro %}{{ f() }}",
    "{% macro m(x=m()) %}{% endmacro %}{{ m() }}",
    "{% macro m() %}{{ caller() }}{% endmacro %}{% macro r() %}{% call m() %}{{ r() }}{% endcall %}{% "
    "endmacro %}{{ r() }}",
    "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
    "{% macro m(n) %}{% if n %}{% for i in range(10) %}{{ m(n - 1) }}{% endfor %}{% endif %}{% endmacro %}{{ "
    "m(12) }}",
    "{{ 'x' * 1000000000 }}",
    "{{ 'x' * 9223372036854775807 }}",
    "{{ [0] * 1000000000 }}",
    "{{ (0,) * 4611686018427387904 }}",
    "{{ 'x'.center(1000000000) }}",
    "{{ 'x'.ljust(1000000000) }}",
    "{{ 'x'.zfill(1000000000) }}",
    "{{ 'x'|center(1000000000) }}",
    "{{ 'a\nb'|indent(1000000000) }}",
    "{{ [1]|batch(1000000000, 'x')|list }}",
    "{{ [1]|slice(1000000000)|list }}",
    "{{ {'a': [1, 2]}|tojson(indent=1000000000) }}",
    "{{ '%1000000000d' % 1 }}",
    "{{ '%.1000000000f' % 1 }}",
    "{{ '{:>1000000000}'.format(1) }}",
    "{{ 10 ** (10 ** 10) }}",
    "{{ 10 ** 4000 * 10 ** 4000 }}",
    "{% for i in range(99999) %}{% set x = 7 ** 4000 * 3 ** 5000 %}{% endfor %}",
    "{% for i in range(99999) %}{% set x = 7 ** 4000 // 3 ** 2000 %}{% endfor %}",
    "{% for i in range(99999) %}{% set x = 7 ** 4000 ~ 'x' %}{% endfor %}",
    "{% for i in range(99999) %}{{ messages }}{{ messages|tojson }}{% endfor %}",
    "{% for i in range(99999) "
    "%}"
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    "xx{% endfor %}",
    "{% set t = 'a' * 1000000 %}{% for i in range(99999) %}{{ ('a' * 500 ~ 'b') in t }}{% endfor %}",
    "{% set t = 'a' * 1000000 %}{% for i in range(99999) %}{% if t.find('b') %}{% endif %}{% endfor %}",
    "{% set t = 'a' * 1000000 %}{% for i in range(99999) %}{% set x = t|upper %}{% endfor %}",
    "{% set t = 'é' * 1000000 %}{% for i in range(99999) %}{% set x = t[500000] %}{% endfor %}",
    "{% set t = 'a b ' * 100000 %}{% for i in range(99999) %}{% set x = t.split() %}{% endfor %}",
    "{% set t = range(100000)|list %}{% for i in range(99999) %}{% set x = t|sort %}{% endfor %}",
    "{% set t = range(100000)|list %}{% for i in range(99999) %}{% if -1 in t %}{% endif %}{% endfor %}",
    "{% set t = range(100000) %}{% for i in range(99999) %}{% set x = t|sum %}{% endfor %}",
    "{% for a in s %}{% for b in range(99999) %}{% for c in range(99999) %}{{ loop.length }}{% endfor %}{% "
    "endfor %}{% endfor %}",
};

/// What would leave the sandbox, or is no part of a chat template.
const std::vector<std::string> kEscapes = {
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ s['__class__']['__base__'] }}",
    "{{ s|attr('__class__')|attr('__mro__')|first }}",
    "{{ messages.__class__.__init__.__globals__ }}",
    "{{ raise_exception.__globals__['os'] }}",
    "{{ range.__self__.eval('1') }}",
    "{{ namespace.__init__.__globals__.sys }}",
    "{{ [1]|map(attribute='__class__.__mro__')|list }}",
    "{{ '{0.__class__.__mro__}'.format(s) }}",
    "{{ '{0[__class__]}'.format(s).x.y }}{{ s.format_map({}) }}",
    "{{ (s.upper).__func__.__code__ }}",
    "{{ loop.__class__.x }}",
    "{{ self.__init__.__globals__ }}",
    "{{ cycler.__init__.__globals__.os.popen('id') }}",
    "{{ lipsum.__globals__ }}",
    "{{ joiner().__init__.__globals__ }}",
    "{{ dict.__base__.__subclasses__() }}",
    "{{ messages.append(1) }}",
    "{{ messages[0].update(role='x') }}",
    "{{ messages.clear() }}",
    "{{ messages[0].pop('role') }}",
    "{% set messages.role = 1 %}",
    "{% set ns = namespace(__class__=1) %}",
    "{% include '/etc/passwd' %}",
    "{% import 'os' as os %}",
    "{% from 'x' import y %}",
    "{% extends '/etc/passwd' %}",
    "{% block x %}{% endblock %}",
    "{{ url_for.__globals__ }}",
    "{{ get_flashed_messages() }}",
    "{{ config.items() }}{{ config.x.y }}",
    "{{ open('/etc/passwd').read() }}",
    "{{ __import__('os') }}",
    "{{ strftime_now('%Q') }}",
    "{{ strftime_now(1) }}",
    "{{ strftime_now('%500000000d') }}",
};

/// Sources whose very parsing could overflow or take forever.
std::vector<std::string> hostile_sources() {
  const int many = 50'000;
  return {
      "{{ " + repeated("(", many) + "1" + repeated(")", many) + " }}",
      "{{ " + repeated("[", many) + repeated("]", many) + " }}",
      "{{ " + repeated("{1:", many) + "1" + repeated("}", many) + " }}",
      "{{ " + repeated("-", many) + "1 }}",
      "{{ " + repeated("not ", many) + "1 }}",
      "{{ 1" + repeated(" + 1", many) + " }}",
      "{{ 1" + repeated(" if 1 else 1", many) + " }}",
      "{{ s" + repeated(".x", many) + " }}",
      "{{ s" + repeated("[0]", many) + " }}",
      "{{ s" + repeated("()", many) + " }}",
      "{{ s" + repeated("|trim", many) + " }}",
      "{{ s" + repeated(" is string", many) + " }}",
      "{{ s" + repeated("|default(s", many) + repeated(")", many) + " }}",
      "{{ " + repeated("1 ** ", many) + "1 }}",
      "{{ " + repeated("1 and ", many) + "1 }}",
      repeated("{% if 1 %}", many),
      repeated("{% for x in [1] %}", many),
      repeated("{% if 1 %}", many) + repeated("{% endif %}", many),
      repeated("{% set x %}", many) + repeated("{% endset %}", many),
      repeated("{% macro m() %}", many) + repeated("{% endmacro %}", many),
      "{{ '" + repeated("x", 1 << 20) + "' }}",
      repeated("{{", many),
      repeated("{#", many),
      repeated("{% raw %}", many),
      "{{ \"" + repeated("\\", many) + " }}",
      "{% if x %}" + repeated("{% elif x %}", many),
      "{{ s.x(" + repeated("a,", many),
      "{{ \xff }}",
      "\xed\xa0\x80{{ 1 }}",
  };
}

TEST(JinjaHostile, BombsAreStopped) {
  ASSERT_GE(kBombs.size(), 40U);
  for (const std::string& source : kBombs) {
    EXPECT_NE(refusal(source), "nothing thrown") << source;
  }
}

TEST(JinjaHostile, NothingLeavesTheSandbox) {
  for (const std::string& source : kEscapes) {
    EXPECT_NE(refusal(source), "nothing thrown") << source;
  }
}

TEST(JinjaHostile, SourcesThatCannotBeParsedAreRefused) {
  for (const std::string& source : hostile_sources()) {
    EXPECT_NE(refusal(source), "nothing thrown") << source.substr(0, 60);
  }
}

TEST(JinjaHostile, EachBudgetSaysWhatRanOut) {
  EXPECT_NE(refusal(kBombs[0]).find("steps"), std::string::npos);
  EXPECT_NE(refusal("{{ 'x' * 1000000000 }}").find("bytes of memory"), std::string::npos);
  EXPECT_NE(refusal("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}").find("nested evaluations"),
            std::string::npos);
  RenderOptions options;
  options.limits.output_bytes = 10;
  EXPECT_EQ(Template("{{ 'x' * 10 }}").render(kVariables, options).text, "xxxxxxxxxx");
  EXPECT_NE(error_of([&] { Template("{{ 'x' * 11 }}").render(kVariables, options); }).find("writes more"),
            std::string::npos);
}

TEST(JinjaHostile, WhatPrintsAsNothingStaysInside) {
  // Jinja's sandbox gives an undefined value here, which prints as nothing and refuses all else.
  EXPECT_EQ(Template("[{{ ''.__class__ }}{{ messages.append }}{{ s.__doc__ }}]").render(kVariables, {}).text,
            "[]");
}

}  // namespace
}  // namespace cohort::jinja
