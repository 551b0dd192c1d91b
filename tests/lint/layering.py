#!/usr/bin/env python3
"""A stage of src/ includes only itself and earlier stages.

    layering.py ROOT        check the tree; one line per violation, exit 1 if there is one
    layering.py --self-test prove that each rule catches a violation
"""
import pathlib
import re
import sys
import tempfile

STAGES = ["algebra", "storage", "data", "graph", "pace", "solve", "model", "evaluate"]
# what the core may include beside the standard library
CORE_MAY_INCLUDE = re.compile(r"cblas\.h|zlib\.h|omp\.h|pthread\.h|sys/\w+\.h|unistd\.h|fcntl\.h|Eigen/\w+|nlohmann/json(_fwd)?\.hpp")
STANDARD = re.compile(r"[a-z_0-9]+")
INCLUDE = re.compile(r'^\s*#\s*include\s*(<[^>]+>|"[^"]+")', re.MULTILINE)


def faults_of(path, text):
    """Violations of the file at `path`, relative to the root."""
    folder = path.split("/")
    public = folder[0] == "include"
    stage = folder[1] if not public else None
    if stage is not None and stage not in STAGES:
        return [f"{path}: '{stage}' is no stage; there are {', '.join(STAGES)}"]
    faults = []
    for match in INCLUDE.finditer(text):
        name = match.group(1)[1:-1]
        target = name.split("/")[0]
        if STANDARD.fullmatch(name) or name.startswith("pacewise/"):
            continue
        if target in STAGES:
            if stage is not None and STAGES.index(target) > STAGES.index(stage):
                faults.append(f"{path}: stage {stage} includes {name}, a later stage")
        elif not CORE_MAY_INCLUDE.fullmatch(name):
            faults.append(f"{path}: includes {name}; the core has its own stages, the public headers and few libraries")
    return faults


def check(root):
    files = [p for top in ("src", "include") for p in sorted(pathlib.Path(root, top).rglob("*"))
             if p.suffix in (".hpp", ".cpp")]
    if not files:
        return [f"{root}: no sources in src/"]
    return [f for p in files for f in faults_of(p.relative_to(root).as_posix(), p.read_text(encoding="utf-8"))]


GOOD = {
    "src/solve/a.cpp": '#include "solve/a.hpp"\n#include <cblas.h>\n#include "pace/b.hpp"\n',
    "src/solve/a.hpp": '#include <vector>\n#include "algebra/m.hpp"\n#include "pacewise/version.hpp"\n',
}
BAD = {
    "src/algebra/a.hpp": '#include "data/problem.hpp"\n',
    "src/graph/a.cpp": '#  include <solve/codes.hpp>\n',
    "src/model/a.cpp": '#include "io/mat.hpp"\n',
    "src/evaluate/a.cpp": '#include "scores.hpp"\n',
    "src/evaluate/b.cpp": '#include <matio.h>\n',
    "src/extras/a.hpp": "\n",
}


def self_test():
    def run(tree):
        with tempfile.TemporaryDirectory() as root:
            for name, text in tree.items():
                path = pathlib.Path(root, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return check(root)

    wrong = [f"reported without reason: {fault}" for fault in run(GOOD)]
    wrong += [f"missed: {name}: {text.strip()}" for name, text in BAD.items() if len(run({name: text})) != 1]
    wrong += [] if run({}) else ["missed: a tree without sources"]
    return wrong


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = self_test() if sys.argv[1] == "--self-test" else check(sys.argv[1])
    print("\n".join(found) if found else "layering: nothing to report")
    sys.exit(1 if found else 0)
