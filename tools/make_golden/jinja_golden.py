#!/usr/bin/env python3
"""Writes tests/libs/jinja/golden/jinja.jsonl: small templates and what Jinja2 makes of them as transformers sets it up.

    .venv-test/bin/python tools/make_golden/jinja_golden.py

The first line records the versions and the variables that all templates see; the others are {"template", and "text"
with "generated" (code points of {% generation %} blocks) or "refused": true}.
"""

import json
import pathlib
import sys
import warnings

import jinja2
import transformers

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/python"))
import jinja_reference  # noqa: E402

VARIABLES = {
    "a": 3, "b": -7, "s": "abc", "u": "Größe 日本 😀", "items": [1, "two", 3.5, None, True], "nothing": None, "yes": True,
    "table": {"k": "v", "items": "hidden", "Z": [1], "update": "no", "n": None, "b c": {"d": "e"}}, "empty": [],
    "messages": [
        {"role": "system", "content": " Be <brief>. "}, {"role": "user", "content": "Hé\n"},
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": {"x": 1.0, "y": [True, None]}}}]},
    ],
}  # fmt: skip
WHITESPACE = [
    "a\n", "a\n\n", "\n", "a\r\nb\rc\r\n", "{% if true %}\nx\n{% endif %}\ny", "  {% if true %}\n  x\n  {% endif %}\ny",
    "a {%- if true %} b {%- endif %} c", "a {% if true -%} \n b {% endif -%} \n c", "a\n  {%+ if true +%}\n b{% endif %}",
    "x  {{- 1 -}}  y", "x\n  {{ 1 }}\n  y", "x\n{# c #}\ny", "x\n  {#- c -#}\n  y", "x {# c +#}\n y", "a{#- #}b", "{##}a", "{#-#}a",
    "  {# c #}  {% set x = 1 %}  z", "a  {% set x = 1 %}  b", "{% raw %}{{ x }}{% endraw %}", "a\n  {% raw -%}\n {% if %} {%- endraw %}\n b",
    "a {%- raw %} b {% endraw -%} c", "{% raw %}\nx\n{% endraw %}\ny", "{{'{%'}}", "{ {a} }", "{{ '}}' }}", "{{ {'a': {'b': 1}}['a']['b'] }}",
    "{%if true%}a{%endif%}", "{{1}}{{2}}", "\t {% if true %}x\n\t {% endif %}", "\u00a0{% if true %}x{% endif %}", "x \u2003{%- if true %}y{% endif %}",
    "{% if true %}{% endif %}\n\n x", "{{ 1 }}\n", "{% set x %}\na\n{% endset %}\n[{{ x }}]", "{% for i in [1,2] -%}\n {{ i }}\n{%- endfor %}\n",
    "{% for i in [1,2] %}\n {{ i }}\n{% endfor %}\n", "{{ 'a\nb' }}", "{#\n\n#}x", "{% if true: %}x{% endif %}",
]  # fmt: skip
LITERALS = [
    r"{{ 'a\n\t\\\'\"\x41\u00e9\U0001f600\101\q' }}", "{{ 'a\\\nb' }}", "{{ 'a' 'b' \"c\" }}", "{{ 1_000 }} {{ 0x1F }} {{ 0b101 }} {{ 0o17 }} {{ 00 }}",
    "{{ 1.5 }} {{ 1e3 }} {{ 1.0e-7 }} {{ 1_0.5 }} {{ 1e16 }} {{ 1e15 }} {{ 123456789012345.6 }} {{ 1e-5 }} {{ 0.0001 }}", "{{ 1.0 }} {{ -0.0 }} {{ 1e400 }}",
    "{{ true }} {{ True }} {{ none }} {{ None }} {{ false }}", "{{ [] }} {{ {} }} {{ () }} {{ (1,) }} {{ (1, 2) }} {{ 1, 2 }}", "{{ [1, 'a', none, 1.0, [true], {'k': 'v', 1: 2}] }}",
    "{{ ['it\\'s', '\"', 'a\\nb', 'é', '\\x00\\x7f\\u200b', '\\\\'] }}", "{{ {'a': 1, 'a': 2, 1: 'x', true: 'y', 1.0: 'z'} }}", "{{ [1,2,] }} {{ {'a':1,} }}", "{{ '\\é' }}",
    "{{ 1.foo }}", "{{ 'unterminated }}", "{{ 1abc }}", "{{ 012 }}", "{{ }}", "{{ 1 2 }}", "{{ ! }}", "{{ (1 }}", "{{ [1) }}", "{{ '\\xg' }}", 
]  # fmt: skip
OPERATORS = [
    "{{ 7 // 2 }} {{ -7 // 2 }} {{ 7 // -2 }} {{ -7 % 3 }} {{ 7 % -3 }} {{ 7 / 2 }} {{ 4 / 2 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ 7.5 // 2 }} {{ -7.5 % 2 }}",
    "{{ 2 ** 3 ** 2 }} {{ -2 ** 2 }} {{ - 3 + 5 }} {{ +a }} {{ -b }} {{ --a }}", "{{ 1 + 2 ~ 3 + 4 }} {{ 'a' ~ 1 ~ none ~ 1.5 ~ [1] }} {{ missing ~ 'x' }}", "{{ true + 1 }} {{ true * 'ab' }} {{ 3 * [1, 2] }} {{ (1,) * 2 }} {{ 'ab' * -1 }}",
    "{{ 'a' + 'b' }} {{ [1] + [2] }} {{ (1,) + (2,) }}", "{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 1 == 1.0 == true }} {{ 'a' < 'b' <= 'b' }} {{ [1, 2] < [1, 3] }} {{ 'é' > 'z' }}",
    "{{ 'b' in 'abc' }} {{ '' in '' }} {{ 1 in [1.0] }} {{ 'k' in table }} {{ 'v' not in table }} {{ 2 in range(3) }} {{ 'x' in missing }} {{ none in items }}",
    "{{ not 1 }} {{ not '' }} {{ 1 and 2 }} {{ 0 and 2 }} {{ 0 or 'x' }} {{ '' or [] }} {{ not a == 3 }} {{ 1 if 0 else 2 if 0 else 3 }} [{{ 1 if 0 }}]",
    "{{ 1 == '1' }} {{ none == missing }} {{ missing == alsomissing }} {{ [1, {'a': 2}] == [1.0, {'a': 2}] }} {{ {'a': 1, 'b': 2} == {'b': 2, 'a': 1} }} {{ (1,) == [1] }}", "{{ range(3) == range(0, 3) }} {{ 'a' != 'b' }}",
    "{{ 1 + 'a' }}", "{{ 'a' + 1 }}", "{{ none + 1 }}", "{{ missing + 'a' }}", "{{ 'a' + missing }}", "{{ 1 / 0 }}", "{{ 1 // 0 }}", "{{ 1 % 0 }}", "{{ 1.0 / 0 }}", "{{ 1 < 'a' }}", "{{ none < 1 }}", "{{ missing < 1 }}", "{{ {} < {} }}", "{{ 1 in 1 }}",
    "{{ 1 in 'a' }}", "{{ missing in 'a' }}", "{{ [] in {} }}", "{{ -'a' }}", "{{ -none }}", "{{ -missing }}", "{{ [1] * [2] }}", "{{ 'a' * 1.0 }}", "{{ 2 ** 0.5 }} {{ 10 ** 2.0 }}", "{{ 0.1 + 0.2 }} {{ 1 / 3 }} {{ 3.0 * 2 }} {{ 5 % 3.5 }}", "{{ '%s is %d and %r %5.2f|%-4s|%04d %%' % ('x', 3, 'y', 2.5, 'z', 7) }}",
    "{{ '%(k)s' % table }} {{ '%s' % 'one' }} {{ '%x %o %e %g' % (255, 8, 1234.5, 0.00001) }}", "{{ '%d' % 'x' }}", "{{ '%s %s' % 'x' }}", "{{ '%s' % ('a', 'b') }}", "{{ '{} {} {{}}'.format(1, 'b') }} {{ '{1}{0}{k}'.format(1, 2, k=3) }} {{ '{0[k]}'.format(table) }} {{ '{!r}'.format('x') }}",
]  # fmt: skip
SUBSCRIPTS = [
    "{{ s[0] }} {{ s[-1] }} {{ s[1:] }} {{ s[:-1] }} {{ s[::-1] }} {{ s[::2] }} {{ s[5:] }} [{{ s[9] }}]", "{{ u[6:8] }} {{ u[-1] }} {{ u[::-1] }} {{ u|length }}", "{{ items[1] }} {{ items[-2:] }} {{ items[::-2] }} [{{ items[99] }}] {{ items[1:3][0] }}",
    "{{ (1, 2, 3)[1:] }} {{ range(10)[2:8:3] }} {{ range(10)[-1] }} {{ range(5)[::-1]|list }}", "{{ table.k }} {{ table['k'] }} {{ table['b c'].d }} [{{ table.zz }}] [{{ table['zz'] }}] [{{ table[1] }}] [{{ table[[]] }}]", "{{ table.items() | list | length }} {{ table['items'] }}",
    "[{{ table.update }}] {{ table['update'] }} {{ table.update is defined }}", "{{ messages[0].role }} {{ messages[-1]['tool_calls'][0].function.arguments.x }} [{{ messages[0].tool_calls }}]", "{{ messages[9].role }}", "{{ missing.x }}", "{{ missing[0] }}", "{{ missing() }}", "{{ none.x }}|{{ none[0] }}|{{ a.x }}|{{ a[0] }}",
    "{{ table.zz.y }}", "{{ items.0 }} {{ items.1 }}", "{{ s['upper']() }} {{ s.upper is defined }} [{{ s.nosuch }}]", "{{ s[1:'x'] }}", "{{ s[::0] }}", "{{ table[1:] }}", "{{ a[1:] }}", "{{ missing[1:] }}", "{{ s[none:2] }} {{ s[true:] }}", "{{ items['x'] }}|{{ s[1.0] }}|{{ items[true] }}",
    "[{{ ''.__class__ }}] {{ ''.__class__ is defined }}", "{{ ''.__class__.__mro__ }}", "{{ [].append(1) }}", "{{ table.pop('k') }}", "{{ {}.__class__() }}", "[{{ s._private }}] [{{ table['__class__'] }}] [{{ s|attr('__class__') }}]", "{{ s.format.__globals__ }}", "{{ range.__init__ }}|{{ (range|attr('x')) is undefined }}", "{{ messages.append }}|{{ messages.index is defined }}",
]  # fmt: skip
STATEMENTS = [
    "{% for i in items %}{{ loop.index }}{{ loop.index0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.revindex }}{{ loop.revindex0 }} {{ i }};{% endfor %}", "{% for i in [1,2,3] %}{{ loop.previtem }}<{{ i }}>{{ loop.nextitem }}|{% endfor %}", "{% for i in [1,2,3] %}{{ loop.previtem is defined }}{{ loop.nextitem is defined }}{{ loop.cycle('a','b') }}{{ loop.changed(i // 2) }}{{ loop.depth }}{% endfor %}",
    "{% for k, v in table.items() %}{{ k }}={{ v }};{% endfor %}", "{% for k in table %}{{ k }};{% endfor %}", "{% for x in [] %}x{% else %}none{% endfor %}", "{% for x in [1] %}x{% else %}none{% endfor %}", "{% for x in [1,2] %}{% break %}{% else %}else{% endfor %}", "{% for x in [1,2] %}{% continue %}{% else %}else{% endfor %}", "{% for x in [1,2,3] %}{% if x == 2 %}{% continue %}{% endif %}{{ x }}{% endfor %}", "{% for x in [1,2,3] %}{% if x == 3 %}{% break %}{% endif %}{{ x }}{% endfor %}",
    "{% for x in range(6) if x % 2 %}{{ loop.index }}{{ x }}{{ loop.last }}{{ loop.length }} {% endfor %}", "{% for m in messages if m.role != 'system' %}{{ m.role }}{{ loop.previtem.role }}{% else %}no{% endfor %}", "{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}", "{% for a, b in [[1, 2], 'xy', {'p': 1, 'q': 2}] %}{{ a }}{{ b }};{% endfor %}", "{% for a, b in [[1]] %}{% endfor %}", "{% for a, b in [[1,2,3]] %}{% endfor %}", "{% for a, b in [1] %}{% endfor %}", "{% for x in none %}{% endfor %}", "{% for x in 5 %}{% endfor %}", "{% for x in missing %}x{% else %}undefined{% endfor %}", "{% for c in u %}{{ c }}.{% endfor %}",
    "{% for x in [[1,[2]],[3]] recursive %}({{ x if x is not iterable else loop(x) }}{{ loop.depth }}){% endfor %}", "{% for n in [{'v': 1, 'c': [{'v': 2, 'c': []}]}] recursive %}{{ n.v }}{{ loop.depth0 }}{% if n.c %}[{{ loop(n.c) }}]{% endif %}{% endfor %}", "{% for x in [1] %}{{ loop(x) }}{% endfor %}", "{% set x = 1 %}{% for i in [1,2] %}{{ x }}{% set x = x + 1 %}{{ x }} {% endfor %}{{ x }}", "{% for i in [1,2] %}{{ y }}{% set y = i %}{{ y }};{% endfor %}[{{ y }}]", "{% for i in [1,2] %}{% for j in [3] %}{{ loop.index }}{% endfor %}{{ loop.index }}{% endfor %}{{ loop is defined }}", "{% for i in [1] %}{% set loop = 2 %}{% endfor %}", "{% for i in [1,2] %}{% for j in [5,6] if loop.first %}{{ i }}{{ j }};{% endfor %}{% endfor %}",
    "{% set ns = namespace(a=1) %}{% for i in [1,2] %}{% set ns.a = ns.a + i %}{% endfor %}{{ ns.a }}{{ ns.b is defined }}", "{% set ns = namespace({'x': 1}, y=2) %}{{ ns.x }}{{ ns['y'] }}{{ ns }}", "{% set ns = namespace(_x=1) %}", "{% set ns = namespace() %}{% set ns._x = 1 %}", "{% set table.k = 1 %}", "{% set missing.k = 1 %}", "{% set x, y = 1, 2 %}{{ x }}{{ y }}", "{% set ns = namespace() %}{% set ns.a, z = [1, 2] %}{{ ns.a }}{{ z }}", "{% set x = 1, 2 %}{{ x }}", "{% set x %}a{{ 1 }}b{% endset %}{{ x }}{{ x is string }}", "{% set x | upper | replace('A', 'z') %}a{{ 1 }}b{% endset %}{{ x }}", "{% set true = 1 %}", "{% set 'a' = 1 %}",
    "{% if missing %}a{% elif 0 %}b{% elif 1 %}c{% else %}d{% endif %}", "{% if false %}{% set z = 1 %}{% endif %}[{{ z }}]", "{% if true %}{% set z = 1 %}{% endif %}[{{ z }}]", "{% if true %}{% set a = a + 1 %}{% endif %}[{{ a }}]", "{% if false %}{% set a = 9 %}{% endif %}[{{ a }}]", "[{{ a }}]{% set a = 9 %}[{{ a }}]", "{% if 1, %}x{% endif %}", "{% macro m() %}{{ q }}{% endmacro %}{% set q = 1 %}{{ m() }}{% set q = 2 %}{{ m() }}", "{% macro m() %}[{{ s }}]{% endmacro %}{{ m() }}{% set s = 2 %}{{ m() }}",
    "{% macro m(x, y=2, z=y) %}{{ x }}{{ y }}{{ z }}{% endmacro %}{{ m(1) }}|{{ m(1, 3) }}|{{ m(1, z=4) }}|{{ m(y=5, x=6) }}|{{ m() }}", "{% macro m(x) %}{{ x is defined }}{% endmacro %}{{ m() }}{{ m(none) }}", "{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, a=3) }}", "{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}", "{% macro m(a) %}{% endmacro %}{{ m(b=2) }}", "{% macro m(a) %}x{% endmacro %}{{ m(1, a=2) }}", "{% macro m(n) %}{{ n }}{% if n > 0 %}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(3) }}", "{% macro m() %}{{ caller() }}!{% endmacro %}{% call m() %}x{{ a }}{% endcall %}", "{% macro m() %}{{ caller(1, 2) }}{% endmacro %}{% call(p, q=0) m() %}{{ p }}{{ q }}{% endcall %}", "{% macro m() %}x{% endmacro %}{% call m() %}y{% endcall %}", "{% macro m() %}{{ caller }}{% endmacro %}{{ m() }}", "{% macro m(x) %}{% set x = 2 %}{{ x }}{% endmacro %}{{ m(1) }}{{ x }}", "{{ m }}{% macro m() %}{% endmacro %}{{ m }}{{ m.name }}", "{% for i in [1] %}{% macro inner() %}<{{ i }}>{% endmacro %}{{ inner() }}{% endfor %}{{ inner is defined }}", "{% macro m(a, a) %}{% endmacro %}", "{% macro m(a=1, b) %}{% endmacro %}", "{% macro outer() %}{% macro inner(x) %}<{{ x }}>{% endmacro %}{{ inner(1) }}{% endmacro %}{{ outer() }}", "{% macro m(messages) %}{{ messages }}{% endmacro %}{{ m(1) }}{{ messages|length }}",
    "{% with x = 1, y = 2 %}{{ x }}{{ y }}{% endwith %}{{ x }}", "{% with %}{% set q = 3 %}{{ q }}{% endwith %}{{ q }}", "{% with a = 5, c = a %}{{ a }}{{ c }}{% endwith %}", "{% filter upper %}a{{ s }}{% endfilter %}", "{% filter replace('a', 'b') | upper %}a{% set s = 'q' %}{{ s }}{% endfilter %}{{ s }}", "{% print 1, 2 %}", "{% print a %}", "a{% generation %}bé{% endgeneration %}c{% generation %}d{% endgeneration %}", "{% for i in [1,2] %}x{% generation %}{{ i }}{% set q = i %}{% endgeneration %}{{ q }}{% endfor %}", "{% macro m() %}ab{% generation %}c{% endgeneration %}{% endmacro %}x{{ m() }}y{% generation %}{% endgeneration %}", "{% generation %}a{% generation %}b{% endgeneration %}{% endgeneration %}", "x{% set z %}y{% generation %}w{% endgeneration %}{% endset %}{{ z }}",
    "{% break %}", "{% for x in [1] %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}", "{% for x in [1] %}{% generation %}{% break %}{% endgeneration %}{% endfor %}", "{% if 1 %}", "{% endif %}", "{% nosuch %}", "{% do 1 %}", "{% for x %}{% endfor %}", "{% if %}{% endif %}", "{{ raise_exception('no ' ~ a) }}", "{% if false %}{{ raise_exception('x') }}{% endif %}ok", "{{ raise_exception() }}", "{% else %}", "{% set %}", "{% for x in [1,2] recursive %}{{ x }}{% endfor %}", "{{ caller is defined }}{{ varargs is defined }}",
    "{% for x in [1,2,3] %}{% if loop.first %}{% set q = 'F' %}{% else %}{% set q = 'N' %}{% endif %}{{ q }}{% endfor %}", "{% set x = x %}[{{ x }}]", "{% for x in [x, 1] %}[{{ x }}]{% endfor %}", "{% for items in items %}{{ items }}{% endfor %}{{ items|length }}", "{% set a %}{% set b = 1 %}{{ b }}{% endset %}{{ a }}{{ b }}",
]  # fmt: skip
FILTERS = [
    "{{ ' x '|trim }}|{{ 'xxaxx'|trim('x') }}|{{ 5|trim }}|{{ missing|trim }}|{{ none|trim }}", "{{ 'aB cD-eF'|title }} {{ 'aBC dE'|capitalize }} {{ 'ß ǆ ΑΣ'|upper }} {{ 'İ ΑΣ. ΑΣΑ'|lower }} {{ 'ǆab ßx'|title }} {{ 'ŉa'|capitalize }}", "{{ [1,2]|length }} {{ 'é'|length }} {{ {}|length }} {{ missing|length }}", "{{ 5|length }}", "{{ none|length }}", "{{ [3,1,2]|sort }} {{ ['b','A','c']|sort }} {{ ['b','A','c']|sort(case_sensitive=true) }} {{ [1,3,2]|sort(reverse=true) }}", "{{ [1,'a']|sort }}", "{{ messages|map(attribute='role')|join(',') }} {{ messages|map(attribute='tool_calls.0.function.name', default='-')|join('|') }}", "{{ messages|selectattr('role','equalto','user')|list|length }} {{ messages|rejectattr('tool_calls')|map(attribute='role')|list }} {{ [0,1,2]|select|list }} {{ [0,1]|reject('odd')|list }}",
    "{{ {'b': 1, 'A': 2, 'a': 0}|dictsort }} {{ {'b': 1, 'A': 2}|dictsort(true) }} {{ {'b': 1, 'a': 2}|dictsort(by='value', reverse=true) }}", "{{ table|items|first }} {{ missing|items|list }}", "{{ 5|items|list }}", "{{ 'a,b'.split(',')|join(' ') }} {{ [1,2]|join }} {{ [[1,'x']]|join(', ', attribute=1) }} {{ 'abc'|join('-') }} {{ missing|join }}", "{{ 'aXbX'|replace('X', 1) }} {{ 'aaa'|replace('a', 'b', 2) }} {{ 12|replace(1, 3) }} {{ 'ab'|replace('', '-') }}", "{{ missing|default('d') }} {{ ''|default('d') }} {{ ''|default('d', true) }} {{ none|default('d') }} {{ table.zz|d(1) }} {{ 0|default(boolean=true, default_value=2) }}", "{{ [1,2,3]|first }} {{ 'abc'|last }} [{{ []|first }}] [{{ []|last }}] {{ range(3)|last }}",
    "{{ '42'|int }} {{ '42.9'|int }} {{ 'x'|int }} {{ 'x'|int(7) }} {{ 3.99|int }} {{ '0x1f'|int(base=16) }} {{ ' 1_0 '|int }} {{ none|int }} {{ true|int }} {{ '-5'|int }} {{ ''|int }}", "{{ '1.5'|float }} {{ 'x'|float }} {{ 2|float }} {{ '1e3'|float }} {{ none|float(9.5) }} {{ 'nan'|float }} {{ '-inf'|float }}", "{{ 2.5|round }} {{ 3.5|round }} {{ 2.675|round(2) }} {{ 1234|round(-2) }} {{ 2.3|round(method='ceil') }} {{ 2.7|round(0, 'floor') }} {{ 5|round }}", "{{ -3|abs }} {{ -2.5|abs }}", "{{ 'x'|abs }}", "{{ [1,2,3]|reverse|list }} {{ 'abc'|reverse }} {{ {'a':1,'b':2}|reverse|list }} {{ [1,2]|reverse is iterable }}", "{{ [1,1.0,'a','A',true]|unique|list }} {{ ['a','A']|unique(true)|list }}", "{{ [1,2,3]|sum }} {{ [[1],[2]]|sum(start=[]) }} {{ [{'x':1},{'x':2}]|sum(attribute='x') }} {{ [3,1]|min }} {{ ['b','A']|max }} [{{ []|min }}]", "{{ ['a']|sum }}", "{{ [1,2,3,4,5]|batch(2)|list }} {{ [1,2,3]|batch(2,'x')|list }} {{ [1,2,3,4,5]|slice(2)|list }} {{ [1,2,3]|slice(2,'z')|list }}",
    "{{ 'a\nb\n\nc'|indent }}|{{ 'a\nb'|indent(2, true) }}|{{ 'a\n\nb'|indent('>', blank=true) }}|{{ 'a'|indent }}", "{{ 'hello big world'|truncate(9) }} {{ 'hello big world'|truncate(9, true) }} {{ 'hello'|truncate(4) }} {{ 'hello big world'|truncate(11, end='!', leeway=0) }}", "{{ '<a href=\"x\">&\\'</a>'|e }} {{ '<'|escape|escape }} {{ '<'|e|forceescape }} {{ '<'|safe }}", "{{ ('<b>'|safe) + '<i>' }} {{ '<i>' + ('<b>'|safe) }} {{ ('<b>'|safe) ~ '<i>' }} {{ ['<i>', '<b>'|safe]|join }} {{ ('<%s>'|safe) % '<' }} {{ ('a'|safe).join(['<', '>'|safe]) }} {{ ('a<'|safe).replace('a', '>') }} {{ ('a,b'|safe).split(',')[0] + '<' }} {{ ['x'|safe] }} {{ ('x'|safe)[0:1] + '<' }} {{ ('x'|safe) is escaped }} {{ 'x'|safe|upper + '<' }} {{ 'x'|safe|string + '<' }} {{ ('{}'|safe).format('<') }}", "{{ '%s-%s'|format(1, 'b') }} {{ '%(x)s'|format(x=2) }}", "{{ 'ab'|center(6) }}|{{ 'ab'|center(7) }}|{{ 'abc'|list }} {{ 5|string + 'x' }}", "{{ 5|list }}", "{{ x|nosuch }}", "{% if false %}{{ x|nosuch }}{% endif %}ok", "{% for i in [] %}{{ x|nosuch }}{% endfor %}ok", "{{ 1 if true else x|nosuch }}", "{{ 'a'|trim('a', 'b') }}", "{{ 'a'|upper(1) }}", "{{ [1]|map('nosuch')|list }}", "{{ [1]|select('nosuch')|list }}", "{{ []|select('nosuch')|list }}", "{{ [1,2]|map('string')|map('upper')|list }} {{ ['a ']|map('trim')|list }} {{ [[1,2]]|map('join', '-')|list }}", "{% set g = [1,2]|select %}{{ g|list }}{{ g|list }}", "{{ ([1]|select)|length }}", "{{ 'x' if [0]|select else 'y' }}",
    "{{ [1,'é',none,true,1.0,{'b':[],'a':{}}]|tojson }} {{ '</script>&\\'\"\\\\\\n\\x01\\x7f'|tojson }}", "{{ {'b':1,'a':[1,{'x':2}]}|tojson(indent=2) }} {{ []|tojson(indent=2) }} {{ {'b':1,'a':2}|tojson(sort_keys=true) }} {{ 'é😀\\x7f'|tojson(ensure_ascii=true) }} {{ [1,{'a':2}]|tojson(separators=(',',':')) }} {{ {1:2,none:3,true:4,1.5:5}|tojson }} {{ (1,2)|tojson }} {{ 1e100|tojson }}", "{{ {'a':[1,2]}|tojson(indent='\t') }}", "{{ missing|tojson }}", "{{ range(3)|tojson }}", "{{ {(1,2):3}|tojson }}", "{{ table.items()|tojson }}", "{{ messages|tojson }}", "{{ 'a'|tojson(true, 2, none, false) }}",
]  # fmt: skip
TESTS = [
    "{{ s is string }}{{ 1 is string }}{{ table is mapping }}{{ items is mapping }}{{ items is sequence }}{{ s is sequence }}{{ table is sequence }}{{ 1 is sequence }}{{ missing is sequence }}{{ range(2) is sequence }}{{ table.items() is sequence }}", "{{ s is iterable }}{{ none is iterable }}{{ missing is iterable }}{{ 1 is iterable }}{{ table.keys() is iterable }}", "{{ 1 is number }}{{ true is number }}{{ 1.0 is integer }}{{ 1 is integer }}{{ true is integer }}{{ 1.0 is float }}{{ 1 is float }}{{ true is boolean }}{{ 1 is boolean }}{{ true is true }}{{ 1 is true }}{{ false is false }}{{ 0 is false }}", "{{ none is none }}{{ missing is none }}{{ missing is defined }}{{ missing is undefined }}{{ missing is not defined }}{{ a is defined }}{{ table.zz is defined }}{{ none is defined }}", "{{ 3 is odd }}{{ 4 is even }}{{ 9 is divisibleby 3 }}{{ 9 is divisibleby(2) }}{{ 1 is eq 1 }}{{ 1 is equalto(2) }}{{ 2 is gt 1 }}{{ 2 is ge(3) }}{{ 1 is lt 2 }}{{ 1 is le 1 }}{{ 1 is ne 2 }}{{ 1 is in [1] }}{{ 'a' is in('abc') }}{{ 1 is not in [2] }}", "{{ 'abc' is lower }}{{ 'ABC' is upper }}{{ 'aB' is lower }}{{ '1' is lower }}", "{{ none is sameas none }}{{ true is sameas true }}{{ 1 is sameas true }}{{ range is callable }}{{ s is callable }}{{ 'upper' is filter }}{{ 'zz' is filter }}{{ 'odd' is test }}", "{{ 1 is nosuch }}", "{% if false %}{{ 1 is nosuch }}{% endif %}ok", "{{ 'a' is odd }}", "{{ none is odd }}", "{{ 1 is defined is defined }}", "{{ not a is defined }}{{ a is defined and b is defined }}{{ a is string or 1 }}", "{{ 2 * 3 is odd }} {{ 1 + 1 is eq 2 }} {{ -1 is number }}",
]  # fmt: skip
METHODS = [
    "{{ ' a b '.split() }} {{ 'a,b,,c'.split(',') }} {{ 'a b c'.split(' ', 1) }} {{ 'a b c'.rsplit(' ', 1) }} {{ ' a  b c '.split(none, 1) }} {{ ' a  b c '.rsplit(maxsplit=1) }} {{ ''.split() }} {{ ''.split(',') }} {{ 'a\u2003b\u00a0c'.split() }}", "{{ 'a'.split('') }}", "{{ 'a'.split(1) }}", "{{ 'xxaxx'.strip('x') }} {{ 'xya'.lstrip('yx') }} {{ 'a\\n\\n'.rstrip('\\n') }} {{ '\\u2003a\\x1c'.strip() }}|{{ 'aé'.rstrip('é') }}", "{{ 'abc'.startswith('ab') }} {{ 'abc'.endswith(('x', 'c')) }} {{ 'abc'.startswith('b', 1) }} {{ 'abc'.startswith('') }} {{ 'abc'.endswith('b', 0, 2) }}", "{{ 'abc'.startswith(1) }}", "{{ 'abc'.startswith(missing) }}", "{{ 'aXbX'.replace('X', '') }} {{ 'aaa'.replace('a', 'b', 1) }} {{ 'é'.replace('', '-') }}", "{{ 'a'.replace('a', 1) }}", "{{ 'a'.replace('a') }}", "{{ 'abcb'.find('b') }} {{ 'abcb'.rfind('b') }} {{ 'éab'.find('b') }} {{ 'abc'.find('z') }} {{ 'abcb'.index('b', 2) }} {{ 'abab'.count('ab') }} {{ 'ab'.count('') }} {{ 'abc'.find('c', -1) }} {{ 'abc'.find('', 4) }}", "{{ 'abc'.index('z') }}", "{{ '-'.join(['a', 'b']) }} {{ ''.join([]) }}", "{{ '-'.join([1]) }}", "{{ 'abC'.upper() }}{{ 'ABC'.lower() }}{{ 'aB c'.title() }}{{ \"they're x1y\".title() }}{{ 'aBC'.capitalize() }}{{ 'aBß'.swapcase() }}{{ 'Straße'.casefold() }}", "{{ '12'.isdigit() }}{{ ''.isdigit() }}{{ '²'.isdigit() }}{{ '²'.isdecimal() }}{{ '½'.isnumeric() }}{{ 'ab1'.isalnum() }}{{ 'aé'.isalpha() }}{{ ' \\t'.isspace() }}{{ 'aB'.islower() }}{{ 'AB1'.isupper() }}{{ 'é'.isascii() }}", "{{ 'a\\nb\\r\\nc\\x0bd\\u2028e'.splitlines() }} {{ 'a\\n\\nb\\n'.splitlines(true) }} {{ 'a=b=c'.partition('=') }} {{ 'a=b=c'.rpartition('=') }} {{ 'abc'.partition('x') }} {{ 'abc'.rpartition('x') }}", "{{ 'ab'.ljust(4) }}|{{ 'ab'.rjust(4, '.') }}|{{ 'ab'.center(5, '*') }}|{{ '-5'.zfill(4) }}|{{ 'ab'.zfill(1) }} {{ 'abc'.removeprefix('a') }} {{ 'abc'.removesuffix('c') }}", "{{ table.get('k') }} {{ table.get('zz') }} {{ table.get('zz', 5) }} {{ table.keys()|list }} {{ table.values()|first }} {{ table.items()|list|first }} {{ {'a':1}.items() }} {{ {'a':1}.keys() }} {{ {'a':1}.values() }}", "{{ table.get() }}", "{{ table.get('k', default=1) }}", "{{ {'a':1}.get([]) }}", "{{ items.index('two') }} {{ items.count(1) }} {{ (1,2,1).count(1) }} {{ [1].copy() }} {{ range(5).index(3) }}", "{{ items.index('zz') }}", "{{ s() }}", "{{ s.nosuch() }}", "{{ 'a'.upper(1) }}",
]  # fmt: skip
FUNCTIONS = [
    "{{ range(3)|list }} {{ range(1, 4)|list }} {{ range(5, 0, -2)|list }} {{ range(0) }} {{ range(2, 5) }} {{ range(1, 9, 2) }} {{ range(3)|length }}", "{{ range(1.0) }}", "{{ range() }}", "{{ range(1, 2, 0) }}", "{{ range(100001) }}", "{{ range(100000)|length }}", "{{ dict(a=1, b=2) }} {{ dict([('x', 1)]) }} {{ dict({'y': 1}, z=2) }}", "{% set j = joiner('|') %}{{ j() }}a{{ j() }}b{{ j() }}", "{{ namespace() }} {{ namespace(a='x') }}", "{{ [1,2].__len__() }}", "{{ 1() }}", "{{ none() }}", "{{ range(*[1, 3])|list }} {{ dict(**{'q': 1}) }}", "{{ dict(**[1]) }}", "{{ range(*5) }}", "{{ dict(a=1, a=2) }}", "{{ dict(a=1, **{'a': 2}) }}", "{% include 'x' %}", "{% import 'x' as y %}", "{% extends 'x' %}", "{% from 'x' import y %}",
]  # fmt: skip
TEMPLATES = [
    *WHITESPACE,
    *LITERALS,
    *OPERATORS,
    *SUBSCRIPTS,
    *STATEMENTS,
    *FILTERS,
    *TESTS,
    *METHODS,
    *FUNCTIONS,
]


def main():
    warnings.simplefilter("ignore")
    versions = {
        "jinja2": jinja2.__version__,
        "transformers": transformers.__version__,
        "python": sys.version.split()[0],
    }
    lines = [{**versions, "variables": VARIABLES}]
    for template in dict.fromkeys(TEMPLATES):
        result = jinja_reference.render(template, VARIABLES)
        if " at 0x" in result.get("text", ""):
            raise SystemExit(f"prints an address: {template}")
        lines.append({"template": template, **(result if "text" in result else {"refused": True})})
    path = ROOT / "tests/libs/jinja/golden/jinja.jsonl"
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    print(f"{path}: {len(lines) - 1} templates, {sum('refused' in line for line in lines)} of them refused")


main()
