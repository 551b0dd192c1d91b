#!/usr/bin/env python3
"""No file is a grab-bag, and none speaks of the machine it was written on.

    tree.py FILE...      the files of the project (tools/sources), relative to its root; exit 1 on a violation
    tree.py --self-test  prove that each rule catches a violation
"""
import pathlib
import re
import sys

GRAB_BAG = re.compile(r"(?:^|[/_.-])(utils?|utilities|common|helpers?|misc)(?:[/_.-]|$)", re.IGNORECASE)
# the folder names are put together here so that this file does not contain what it looks for
MACHINE_PATH = re.compile(r"(?<![\w.}])/(?:" + "|".join(["work", "root", "home"]) + r")/")


def faults_of(name, text):
    faults = [f"{name}: a grab-bag name; say what is inside"] if GRAB_BAG.search(name) else []
    for number, line in enumerate(text.splitlines(), 1):
        if MACHINE_PATH.search(line):
            faults.append(f"{name}:{number}: a path of one machine: {line.strip()[:80]}")
    return faults


def self_test():
    bad = [(f"pacewise/{n}", "") for n in ("utils.hpp", "graph/graph_utils.cpp", "common/a.hpp", "misc.cpp", "Helper.py")]
    bad += [("a.sh", f"x\ncd /{folder}/main") for folder in ("work", "root", "home")]
    good = [("pacewise/solve/commonality.cpp", "a/root/b ./home/ is not absolute"), ("README.md", "PREFIX=/usr/local")]
    wrong = [f"missed: {name} {text}" for name, text in bad if len(faults_of(name, text)) != 1]
    return wrong + [f"reported without reason: {fault}" for case in good for fault in faults_of(*case)]


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if sys.argv[1] == "--self-test":
        found = self_test()
    else:
        found = [f for n in sys.argv[1:] for f in faults_of(n, pathlib.Path(n).read_text(encoding="utf-8", errors="replace"))]
    print("\n".join(found) if found else "tree: nothing to report")
    sys.exit(1 if found else 0)
