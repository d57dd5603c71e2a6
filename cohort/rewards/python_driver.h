// The Python program that runs a tested program inside the sandbox: as the main program, or to call one of
// its functions and write the value as typed JSON. It knows the input alone: nothing that is expected.
#pragma once

namespace cohort {

/// Runs prelude.py, program.py and setup.py of its own folder, those that are there, and where there is a
/// call.json what that asks for; what the program prints then goes to standard error. Where there is an
/// imports.txt (see python_imports.h) the program finds the names of it that it uses. Values are written by
/// the methods of the builtin types, so that a subclass shows what it holds and not what it says. Python is
/// started without its module `site`, which costs more than all else and would bring in the machine's
/// packages; `exit` and `quit` come from there.
constexpr const char* kPythonDriver = R"python(
import _sitebuiltins
import builtins
import os
import sys

box = os.path.dirname(__file__)
builtins.exit = _sitebuiltins.Quitter("exit", "")
builtins.quit = _sitebuiltins.Quitter("quit", "")


def read_code(name):
    path = box + "/" + name
    if not os.path.exists(path):
        return None
    with open(path, "rb") as file:
        return compile(file.read(), path, "exec")


def add_imports(code, names):
    used, codes = set(), [code]
    while codes:
        part = codes.pop()
        used.update(part.co_names)
        codes.extend(item for item in part.co_consts if type(item) is type(code))
    with open(box + "/imports.txt") as file:
        for line in file:
            name, *exported = line.split()
            wanted = used.intersection(exported)
            if not wanted and name not in used:
                continue
            module = __import__(name)
            names.update({word: getattr(module, word) for word in wanted if hasattr(module, word)})
            if name in used:
                names[name] = module


def run_program(name):
    code, prelude = read_code("program.py"), read_code("prelude.py")
    module = type(sys)(name)
    module.__file__ = box + "/program.py"
    sys.modules[name] = module
    if os.path.exists(box + "/imports.txt"):
        add_imports(code, module.__dict__)
    for part in (prelude, code, read_code("setup.py")):
        if part is not None:
            exec(part, module.__dict__)
    return module.__dict__


def encode(value, depth=0):
    if depth > 90:
        raise ValueError("the value is nested too deeply")
    if value is None or value is True or value is False:
        return value
    kind = type(value)
    if issubclass(kind, int):
        return {"i": int.__repr__(value)}
    if issubclass(kind, float):
        return {"f": float.hex(value)}
    if issubclass(kind, str):
        text = str.__str__(value)
        try:
            str.encode(text)
        except UnicodeEncodeError:
            return {"?": "str, which holds half a surrogate pair"}
        return {"s": text}
    if issubclass(kind, (bytes, bytearray)):
        return {"b": bytes.hex(bytes(value))}
    if issubclass(kind, complex):
        return {"c": float.hex(complex(value).real) + " " + float.hex(complex(value).imag)}
    for base, tag in ((list, "l"), (tuple, "t"), (set, "S"), (frozenset, "S")):
        if issubclass(kind, base):
            return {tag: [encode(item, depth + 1) for item in base.__iter__(value)]}
    if issubclass(kind, dict):
        return {"d": [encode(part, depth + 1) for pair in dict.items(value) for part in pair]}
    return {"?": kind.__name__}


def call(names, request):
    if "expression" in request:
        return eval(request["expression"], names)
    return eval(request["call"], names)(*request["args"], **request["kwargs"])


def answer_call():
    import json

    answer = os.dup(1)
    os.dup2(2, 1)
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(0)
    with open(box + "/call.json") as file:
        request = json.load(file)
    text = json.dumps(encode(call(run_program("program"), request))).encode()
    while text:
        text = text[os.write(answer, text) :]
    sys.stdout.flush()
    os._exit(0)


if os.path.exists(box + "/call.json"):
    answer_call()
else:
    run_program("__main__")
)python";

}  // namespace cohort
