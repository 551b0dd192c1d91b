#!/usr/bin/env python3
"""The library never prints and never exits: no symbol that does is referenced by its objects.

    symbols.py LIBRARY.a...           one line per forbidden symbol, exit 1 if there is one
    symbols.py --self-test COMPILER   prove that each way to print or exit is caught

What only the C++ runtime calls (std::terminate, __cxa_*) is fine, and so is formatting into memory (snprintf) and
writing to a file the caller named (std::ofstream, fwrite: the standard streams themselves are forbidden).
"""
import pathlib
import re
import subprocess
import sys
import tempfile

FORBIDDEN = re.compile(
    r"(__)?v?[fd]?w?printf(_chk)?|puts|fputs|fputws|putw?char|f?putw?c|_IO_putc|perror|psignal|v?(err|warn)x?|error|"
    r"v?syslog(_chk)?|stdout|stderr|_?exit|_Exit|quick_exit|abort|__assert_(perror_)?fail|raise|kill|"
    r"std::w?(cout|cerr|clog)|std::ios_base::Init::Init\(\)|std::__glibcxx_assert_fail.*|std::exit\(int\)"
)


def forbidden_in(archive):
    lines = subprocess.run(["nm", "-C", "--undefined-only", archive], check=True, capture_output=True, text=True).stdout
    member, faults, seen = archive, [], 0
    for line in lines.splitlines():
        if line.endswith(":"):
            member = line[:-1]
        symbol = re.fullmatch(r"\s*[UwWvV] (.*)", line)
        if not symbol:
            continue
        seen += 1
        name = symbol.group(1).split("@")[0]
        if FORBIDDEN.fullmatch(name):
            faults.append(f"{pathlib.Path(archive).name}: {member} references {name}")
    return faults if seen else [f"{archive}: nm shows no symbols at all"]


PRINTS_OR_EXITS = {
    "printf": '#include <cstdio>\nvoid f(int i) { std::printf("%d", i); }',
    "puts": '#include <cstdio>\nvoid f(const char* s) { std::puts(s); }',
    "stderr": '#include <cstdio>\nvoid f(const char* s) { std::fwrite(s, 1, 1, stderr); }',
    "cout": "#include <iostream>\nvoid f(int i) { std::cout << i; }",
    "cerr": "#include <iostream>\nvoid f(int i) { std::cerr << i; }",
    "clog": "#include <iostream>\nvoid f(int i) { std::clog << i; }",
    "exit": "#include <cstdlib>\nvoid f(int i) { std::exit(i); }",
    "quick_exit": "#include <cstdlib>\nvoid f(int i) { std::quick_exit(i); }",
    "abort": "#include <cstdlib>\nvoid f(int i) { if (i) std::abort(); }",
    "assert": "#undef NDEBUG\n#include <cassert>\nvoid f(int i) { assert(i > 0); }",
}
QUIET = """#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
void f(const std::string& path, int i) {
  char text[9];
  std::snprintf(text, sizeof text, "%d", i);
  std::ofstream(path) << text;
  if (i < 0) throw std::runtime_error(text + std::to_string(0.5 * i));
}
"""


def self_test(compiler):
    with tempfile.TemporaryDirectory() as folder:

        def faults(text):
            source, thing = pathlib.Path(folder, "a.cpp"), str(pathlib.Path(folder, "a.o"))
            source.write_text(text, encoding="utf-8")
            subprocess.run([compiler, "-std=c++20", "-O2", "-c", str(source), "-o", thing], check=True)
            return forbidden_in(thing)

        wrong = [f"missed: {name}" for name, text in PRINTS_OR_EXITS.items() if not faults(text)]
        return wrong + [f"reported without reason: {fault}" for fault in faults(QUIET)]


if __name__ == "__main__":
    if len(sys.argv) < 2 or (sys.argv[1] == "--self-test" and len(sys.argv) != 3):
        sys.exit(__doc__)
    if sys.argv[1] == "--self-test":
        found = self_test(sys.argv[2])
    else:
        found = [fault for archive in sys.argv[1:] for fault in forbidden_in(archive)]
    print("\n".join(found) if found else "symbols: nothing to report")
    sys.exit(1 if found else 0)
