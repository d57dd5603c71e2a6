// Programs that try to break out, to break the machine or to outlive their deadline: one for each line of the
// abuse suite, by number. A program that is refused what it wants prints "held"; one that gets it prints
// "ESCAPED".
#pragma once

#include <string>
#include <vector>

namespace cohort {

struct AbuseCase {
  int number;
  const char* name;
  const char* program;
  /// How it may end, in the words of brief(), separated by "|".
  const char* endings;
  int wall_ms = 1000;
};

/// Before every program: raw system calls, and refused(f), which is true when f fails or is killed for its
/// call.
inline constexpr const char* kAbusePrelude = R"(
import ctypes, errno, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)

def call(number, *arguments):
    ctypes.set_errno(0)
    return libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])

def refused(action):
    pid = os.fork()
    if pid == 0:
        try:
            result = action()
        except OSError:
            result = -1
        os._exit(1 if result is None or result >= 0 else 0)
    status = os.waitpid(pid, 0)[1]
    return os.WTERMSIG(status) == signal.SIGSYS if os.WIFSIGNALED(status) else status == 0

def expect(*conditions):
    print("held" if all(conditions) else "ESCAPED " + repr(conditions))
)";

inline constexpr AbuseCase kAbuseCases[] = {
    // Resources
    {1, "fork bomb", "while True:\n  try: os.fork()\n  except OSError: pass", "timeout|memory", 500},
    {2, "memory bomb", "hoard = []\nwhile True: hoard.append(bytearray(b'x' * (1 << 20)))", "memory|exit 1",
     5000},
    {3, "memory across processes",
     "read_end, write_end = os.pipe()\n"
     "for child in range(6):\n"
     "  try: pid = os.fork()\n"
     "  except OSError: break\n"
     "  if pid == 0:\n"
     "    hoard = bytearray(b'x' * (60 << 20))\n"
     "    os.write(write_end, b'!')\n"
     "    signal.pause()\n"
     "count = 0\n"
     "signal.alarm(1)\n"
     "while count < 5: count += len(os.read(read_end, 1))\n"
     "print('ESCAPED')",
     "memory|signal 14|timeout", 3000},
    {4, "endless standard output", "while True: print('x' * 1000)", "output"},
    {5, "endless standard error", "while True: print('x' * 1000, file=sys.stderr)", "output"},
    {6, "output without a newline", "while True: sys.stdout.write('x' * 1000)", "output"},
    {7, "huge file",
     "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
     "def fill():\n"
     "  with open('/.cohort/work/huge', 'wb', 0) as file:\n"
     "    for i in range(4096): file.write(b'x' * (1 << 20))\n"
     "expect(refused(fill))",
     "exit 0|memory", 3000},
    {8, "endless small files",
     "count = 0\n"
     "try:\n"
     "  for count in range(100000): open('/.cohort/work/' + str(count), 'w').close()\n"
     "except OSError: pass\n"
     "expect(count < 5000)",
     "exit 0", 3000},
    {9, "sparse files and fallocate",
     "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
     "file = os.open('/.cohort/work/sparse', os.O_CREAT | os.O_RDWR)\n"
     "expect(refused(lambda: os.truncate('/.cohort/work/sparse', 1 << 40)),"
     " refused(lambda: os.posix_fallocate(file, 0, 1 << 30)))",
     "exit 0"},
    {10, "pipes and open files",
     "count = 0\n"
     "try:\n"
     "  for count in range(100000): os.pipe()\n"
     "except OSError: pass\n"
     "expect(count < 256)",
     "exit 0"},
    {11, "threads",
     "import threading, time\n"
     "count = 0\n"
     "try:\n"
     "  for count in range(1000): threading.Thread(target=time.sleep, args=(100,), daemon=True).start()\n"
     "except (RuntimeError, MemoryError): pass\n"
     "expect(count < 64); sys.stdout.flush(); os._exit(0)",
     "exit 0"},
    {12, "System V shared memory", "expect(refused(lambda: libc.shmget(0, 768 << 20, 0o600)))", "exit 0"},
    {13, "memfd", "expect(refused(lambda: os.memfd_create('x')))", "exit 0"},
    {14, "spinning children",
     "for i in range(8):\n"
     "  try:\n"
     "    if os.fork() == 0: break\n"
     "  except OSError: pass\n"
     "while True: pass",
     "timeout|signal 9", 500},
    {15, "deep recursion",
     "sys.setrecursionlimit(10**9)\n"
     "import json\n"
     "class Deep(list):\n"
     "  def __repr__(self): return repr(self)\n"
     "repr(Deep())",
     "signal 11|exit 1|memory|timeout", 3000},
    {16, "huge integers", "print(len(str(9 ** 9 ** 8)))", "timeout|memory|exit 1"},
    {17, "regex backtracking", "import re\nre.match(r'(a+)+$', 'a' * 40 + 'b')", "timeout", 500},
    {18, "a nested result", "print('[' * 30000)", "exit 0"},
    {19, "input never read", "print('held')", "exit 0"},
    {20, "empty input", "expect(sys.stdin.read() == '')\ninput()", "exit 1"},
    {21, "bytes that are no text", "sys.stdout.buffer.write(b'\\xff\\x00\\xfeheld')", "exit 0"},
    // Life
    {22, "all signals ignored",
     "for number in range(1, 65):\n"
     "  try: signal.signal(number, signal.SIG_IGN)\n"
     "  except (OSError, ValueError): pass\n"
     "while True: pass",
     "timeout", 500},
    {23, "a daemon",
     "if os.fork() == 0:\n  os.setsid()\n  if os.fork() == 0:\n    signal.pause()\n  "
     "os._exit(0)\nprint('held')",
     "exit 0"},
    {24, "a daemon that closes its files",
     "if os.fork() == 0:\n  os.setsid()\n  if os.fork() == 0:\n    os.closerange(0, 256)\n    "
     "signal.pause()\n  os._exit(0)\n"
     "print('held')",
     "exit 0"},
    {25, "a child that keeps standard output open",
     "print('held', flush=True)\nif os.fork() == 0: signal.pause()", "exit 0"},
    {26, "killing everybody",
     "for pid in (-1, 1, os.getppid(), 0):\n"
     "  if pid == 0: continue\n"
     "  try: os.kill(pid, signal.SIGKILL)\n"
     "  except OSError: pass\n"
     "print('held')",
     "exit 0"},
    {27, "stopping itself", "os.kill(os.getpid(), signal.SIGSTOP)", "timeout", 500},
    {28, "killing itself", "os.kill(os.getpid(), signal.SIGKILL)", "signal 9"},
    {29, "limits and priority of the first process",
     "limit = ctypes.create_string_buffer(16)\n"
     "expect(*[refused(lambda: call(302, pid, kind, limit, 0)) for pid in (1, 2, os.getppid(), (1 << 32) + 1)"
     " for kind in (0, 4)],"
     " refused(lambda: call(203, 1, 8, ctypes.create_string_buffer(b'\\1', 8))),"
     " refused(lambda: call(141, 0, 1, 19)), refused(lambda: call(141, 1, 0, 19)), refused(lambda: call(141, "
     "2, 0, "
     "19)),"
     " not refused(lambda: call(302, 0, 4, limit, 0)), not refused(lambda: call(141, 0, 0, 19)))",
     "exit 0"},
    {30, "a first process that is kept busy until its own time is over",
     "import resource\n"
     "try: resource.prlimit(1, resource.RLIMIT_CPU, (0, 0))\n"
     "except OSError: pass\n"
     "while True:\n"
     "  if os.fork() == 0:\n"
     "    for _ in range(20):\n"
     "      try:\n"
     "        if os.fork() == 0: os._exit(0)\n"
     "      except OSError: pass\n"
     "    os._exit(0)\n"
     "  os.wait()",
     "timeout|signal 9|exit 1|memory"},
    // Secrets and escapes
    {31, "the environment",
     "expect('COHORT_CANARY' not in os.environ, set(os.environ) <= {'PATH', 'HOME', 'TMPDIR', 'LANG', "
     "'LC_CTYPE',"
     " 'MALLOC_ARENA_MAX', 'PYTHONHASHSEED', 'PYTHONPATH'})",
     "exit 0"},
    {32, "process 1",
     "def opens(name):\n"
     "  try: return open('/proc/1/' + name, 'rb').read(1) is not None\n"
     "  except OSError: return False\n"
     "expect(not any(map(opens, ('environ', 'maps', 'mem', 'cmdline', 'root/box/program.py', 'cwd/x', "
     "'fd/0'))),"
     " not os.path.exists('/proc/kcore'), not os.path.exists('/proc/sys'), not os.path.exists('/proc/net'))",
     "exit 0"},
    {33, "other folders",
     "expect(not any(map(os.path.exists, ('/etc/passwd', '/home', '/sys', '/var', '/mnt', "
     "'/run'))),"
     " not os.path.exists('/root/.bashrc'))",
     "exit 0"},
    {34, "inherited files", "expect(len(os.listdir('/proc/self/fd')) == 4)", "exit 0"},
    {35, "sockets of all families",
     "import socket\n"
     "def opens(family, kind):\n"
     "  try: return socket.socket(family, kind) is not None\n"
     "  except OSError: return False\n"
     "expect(not any(opens(family, kind) for family in range(46) for kind in (1, 2, 3, 5)))",
     "exit 0"},
    {36, "other processes' memory",
     "expect(refused(lambda: call(101, 16, 1, 0, 0)), refused(lambda: call(101, 0, 0, 0, 0)),"
     " refused(lambda: call(310, 1, 0, 0, 0, 0, 0)), refused(lambda: call(311, 1, 0, 0, 0, 0, 0)),"
     " refused(lambda: call(438, 0, 0, 0)), refused(lambda: call(312, 1, 1, 0, 0, 0)))",
     "exit 0"},
    {37, "namespaces and mounts",
     "new_user = 0x10000000\n"
     "expect(refused(lambda: call(272, new_user)), refused(lambda: call(308, 0, 0)), refused(lambda: "
     "call(161, b'/.cohort/work')),"
     " refused(lambda: call(165, b'x', b'/.cohort/work', b'tmpfs', 0, 0)), refused(lambda: call(56, new_user "
     "| 17, "
     "0, 0, 0, 0)),"
     " refused(lambda: call(435, 0, 88)), refused(lambda: call(155, b'/.cohort/work', b'/.cohort/work')), "
     "refused(lambda: "
     "call(428, 0, b'/', 1)))",
     "exit 0"},
    {38, "io_uring", "expect(refused(lambda: call(425, 8, ctypes.create_string_buffer(256))))", "exit 0"},
    {39, "bpf, keys, userfaultfd, perf",
     "expect(refused(lambda: call(321, 0, 0, 0)), refused(lambda: call(250, 0, -3, 1)), refused(lambda: "
     "call(323, 0)),"
     " refused(lambda: call(298, ctypes.create_string_buffer(256), 0, -1, -1, 0)),"
     " refused(lambda: call(248, b'user', b'x', b'x', 1, -3)))",
     "exit 0"},
    {40, "calls of another architecture", "expect(refused(lambda: call(0x40000000 | 39)))", "exit 0"},
    {41, "privileges",
     "status = dict(line.split(':\\t', 1) for line in open('/proc/self/status') if ':\\t' in line)\n"
     "expect(status['NoNewPrivs'].strip() == '1', int(status['CapEff'], 16) == 0, int(status['CapBnd'], 16) "
     "== 0,"
     " int(status['CapPrm'], 16) == 0, os.getuid() != 0, refused(lambda: call(105, 0)), refused(lambda: "
     "call(117, 0, 0, 0)))",
     "exit 0"},
    {42, "device nodes",
     "import stat\n"
     "expect(refused(lambda: os.mknod('/.cohort/work/null', stat.S_IFCHR | 0o666, os.makedev(1, 3))),"
     " refused(lambda: os.mknod('/.cohort/work/disk', stat.S_IFBLK | 0o666, os.makedev(254, 0))))",
     "exit 0"},
    {43, "raising its own limits",
     "import resource\n"
     "def raises(kind):\n"
     "  try: resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)); return True\n"
     "  except (OSError, ValueError): return False\n"
     "kinds = (resource.RLIMIT_AS, resource.RLIMIT_NPROC, resource.RLIMIT_CPU, resource.RLIMIT_FSIZE,"
     " resource.RLIMIT_NOFILE, resource.RLIMIT_CORE, resource.RLIMIT_STACK)\n"
     "expect(not any(map(raises, kinds)))",
     "exit 0"},
    {44, "writing outside /.cohort/work",
     "def writes(path):\n"
     "  try: open(path, 'w').write('0'); return True\n"
     "  except OSError: return False\n"
     "folder = os.path.dirname(os.__file__)\n"
     "expect(not any(map(writes, (folder + '/x', '/x', '/dev/x', '/.cohort/box/x', "
     "'/.cohort/box/program.py', "
     "'/proc/self/oom_score_adj',"
     " '/proc/self/uid_map', '/proc/self/comm', sys.executable))), refused(lambda: os.chmod(sys.executable, "
     "0o777)))",
     "exit 0"},
    {47, "executing what was written",
     "import shutil\n"
     "shutil.copyfile(sys.executable, '/.cohort/work/python')\n"
     "os.chmod('/.cohort/work/python', 0o755)\n"
     "open('/.cohort/work/script', 'w').write('#!' + sys.executable + '\\nprint(1)\\n')\n"
     "os.chmod('/.cohort/work/script', 0o755)\n"
     "loader = '/lib64/ld-linux-x86-64.so.2'\n"
     "def runs(*command):\n"
     "  pid = os.fork()\n"
     "  if pid == 0:\n"
     "    os.dup2(os.open('/dev/null', os.O_WRONLY), 2)\n"
     "    try: os.execv(command[0], command)\n"
     "    except OSError: os._exit(99)\n"
     "  return os.waitpid(pid, 0)[1] == 0\n"
     "expect(not runs('/.cohort/work/python', '-c', '1'), not runs('/.cohort/work/script'), not runs(loader, "
     "'/.cohort/work/python', "
     "'-c', '1'),"
     " not runs('/proc/self/fd/3'))",
     "exit 0", 3000},
    {50, "programs on sockets, and locks that other jobs would wait for",
     "import fcntl, socket, struct\n"
     "ends = socket.socketpair()\n"
     "code = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0xffffffff))\n"
     "program = struct.pack('HxxxxxxQ', 1, ctypes.addressof(code))\n"
     "file = open(os.__file__, 'rb')\n"
     "expect(*[refused(lambda: ends[0].setsockopt(1, name, program)) for name in (26, 50, 51, 52)],"
     " refused(lambda: fcntl.flock(file, fcntl.LOCK_SH)),"
     " not refused(lambda: ends[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)))",
     "exit 0"},
    {48, "typing into a terminal",
     "import fcntl\n"
     "expect(refused(lambda: fcntl.ioctl(0, 0x5412, b'x')), refused(lambda: fcntl.ioctl(0, 0x541C, "
     "b'\\x02')),"
     " refused(lambda: os.open('/dev/tty', os.O_RDWR)))",
     "exit 0"},
    {49, "devices", "expect(set(os.listdir('/dev')) == {'null', 'zero', 'urandom', 'random', 'full'})",
     "exit 0"},
};

}  // namespace cohort
