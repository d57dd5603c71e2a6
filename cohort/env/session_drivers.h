// The programs that run inside a sandbox session (cohort/rewards/sandbox_session.h): they read one request
// after another, run it and answer with one line.
#pragma once

namespace cohort {

/// Runs each request as a cell of a notebook, in one namespace: prints the value of a last expression that is
/// not None, and the traceback of an exception. Answers "done". Cells know each other's source, so that
/// tracebacks show it. As in kPythonDriver, Python is started without its module `site`.
constexpr const char* kPythonSession = R"python(
import _ast
import builtins
import os
import sys

builtins.exit = builtins.quit = sys.exit
channel = os.dup(0)
os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
os.dup2(2, 1)
sys.path[0] = ""
sys.argv = [""]
module = type(sys)("__main__")
sys.modules["__main__"] = module
own_id, own_file, cells = os.getpid(), __file__, {}


def open_stream(number):
    mode = "w" if number else "r"
    return open(number, mode, 1, "utf-8", "backslashreplace", closefd=False)


streams = [open_stream(number) for number in range(3)]


def read_request():
    request = b""
    while not request.endswith(b"\0"):
        part = os.read(channel, 65536)
        if not part:
            os._exit(0)
        request += part
    return request[:-1].decode("utf-8", "replace")


def show_exception():
    import linecache
    import traceback

    kind, error, trace = sys.exc_info()
    for name, text in cells.items():
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    while trace and trace.tb_frame.f_code.co_filename == own_file:
        trace = trace.tb_next
    traceback.print_exception(kind, error, trace)


def run(name, text):
    tree = compile(text, name, "exec", _ast.PyCF_ONLY_AST, dont_inherit=True)
    is_value = bool(tree.body) and isinstance(tree.body[-1], _ast.Expr)
    last = tree.body.pop() if is_value else None
    exec(compile(tree, name, "exec", dont_inherit=True), module.__dict__)
    if last is not None:
        value = eval(compile(_ast.Expression(last.value), name, "eval", dont_inherit=True), module.__dict__)
        if value is not None:
            print(repr(value))


def run_cell(name, text):
    for number in range(3):
        if streams[number].closed:
            streams[number] = open_stream(number)
    sys.stdin, sys.stdout, sys.stderr = streams
    cells[name] = text
    try:
        run(name, text)
    except SystemExit as end:
        if end.code is not None and end.code != 0:
            print("SystemExit:", end.code)
    except BaseException:
        show_exception()
    finally:
        for stream in streams[1:]:
            if not stream.closed:
                stream.flush()


os.write(channel, b"ready\n")
while True:
    text = read_request()
    try:
        run_cell(f"<cell {len(cells) + 1}>", text)
    except BaseException as error:
        os.write(2, f"{type(error).__name__}: the output can't be shown\n".encode())
    if os.getpid() != own_id:
        os._exit(0)
    os.write(channel, b"done\n")
)python";

/// Runs each request in one shell and answers with its exit status. Where the request ends that shell, the
/// answer is "exit STATUS", and the next request gets a new one.
constexpr const char* kBashSession = R"bash(
exec 8<&0 9>&1 1>&2 </dev/null
printf 'ready\n' >&9
while true; do
  # On one line, so that messages count the lines of the request.
  bash --norc --noprofile -c 'while IFS= read -r -d "" -u 8 request; do eval "$request" 8<&- 9>&-; printf "%d\n" $? >&9; done; kill -9 $PPID' bash
  printf 'exit %d\n' $? >&9
done
)bash";

}  // namespace cohort
