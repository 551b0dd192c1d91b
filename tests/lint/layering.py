#!/usr/bin/env python3
"""A stage of pacewise/ includes only itself and earlier stages.

    layering.py ROOT        check the tree; one line per violation, exit 1 if there is one
    layering.py --self-test prove that each rule catches a violation
"""
import pathlib
import re
import sys
import tempfile

STAGES = ["algebra", "data", "graph", "pace", "solve", "model", "evaluate", "report"]
# what the .cpp files of the core may include beside the standard library: it needs OpenBLAS and OpenMP alone
CORE_MAY_INCLUDE = re.compile(r"cblas\.h|omp\.h|sys/\w+\.h|unistd\.h|fcntl\.h")
STANDARD = re.compile(r"[a-z_0-9]+")
INCLUDE = re.compile(r'^\s*#\s*include\s*(<[^>]+>|"[^"]+")', re.MULTILINE)


def faults_of(path, text):
    """Violations of the file at `path`, relative to the root."""
    parts = path.split("/")
    files = path.startswith("pacewise/data/files/")
    stage = parts[1] if len(parts) > 2 else None
    if stage is not None and stage not in STAGES:
        return [f"{path}: '{stage}' is no stage; there are {', '.join(STAGES)}"]
    faults = []
    for match in INCLUDE.finditer(text):
        name = match.group(1)[1:-1]
        if not name.startswith("pacewise/"):
            faults += outside_faults(path, name, match.group(1)[0] == '"', files)
            continue
        target = name.split("/")
        if name.startswith("pacewise/data/files/") and not files:
            faults.append(f"{path}: includes {name}, but the core must do without the file readers")
        if stage is None:
            continue  # pacewise/pacewise.hpp, the sum of all stages
        if len(target) == 2 and target[1] != "version.hpp":
            faults.append(f"{path}: includes {name}, which includes later stages")
        if len(target) > 2 and (target[1] not in STAGES or STAGES.index(target[1]) > STAGES.index(stage)):
            faults.append(f"{path}: stage {stage} includes {name}, a later stage")
    return faults


def outside_faults(path, name, quoted, files):
    if quoted:
        return [f'{path}: includes "{name}"; write the path from the root, "pacewise/..."']
    if STANDARD.fullmatch(name):
        return []
    if path.endswith(".hpp"):
        return [f"{path}: includes <{name}>; headers show only pacewise and the standard library"]
    if not files and not CORE_MAY_INCLUDE.fullmatch(name):
        return [f"{path}: includes <{name}>; the core needs only OpenBLAS and OpenMP"]
    return []


def check(root):
    files = [p for p in sorted(pathlib.Path(root, "pacewise").rglob("*")) if p.suffix in (".hpp", ".cpp")]
    if not files:
        return [f"{root}: no sources in pacewise/"]
    return [f for p in files for f in faults_of(p.relative_to(root).as_posix(), p.read_text(encoding="utf-8"))]


GOOD = {
    "pacewise/solve/a.cpp": '#include "pacewise/solve/a.hpp"\n#include <cblas.h>\n#include "pacewise/pace/b.hpp"\n',
    "pacewise/solve/a.hpp": '#include <vector>\n#include "pacewise/algebra/m.hpp"\n#include "pacewise/version.hpp"\n',
    "pacewise/data/files/mat.cpp": '#include <matio.h>\n#include "pacewise/data/files/mat.hpp"\n',
    "pacewise/pacewise.hpp": '#include "pacewise/report/page.hpp"\n',
}
BAD = {
    "pacewise/algebra/a.hpp": '#include "pacewise/data/problem.hpp"\n',
    "pacewise/graph/a.cpp": '#  include <pacewise/solve/codes.hpp>\n',
    "pacewise/model/a.hpp": '#include "pacewise/pacewise.hpp"\n',
    "pacewise/model/a.cpp": '#include "pacewise/data/files/mat.hpp"\n',
    "pacewise/pacewise.hpp": '#include "pacewise/data/files/mat.hpp"\n',
    "pacewise/data/files/a.cpp": '#include "pacewise/graph/graph.hpp"\n',
    "pacewise/evaluate/a.cpp": '#include "scores.hpp"\n',
    "pacewise/evaluate/b.cpp": '#include <nlohmann/json.hpp>\n',
    "pacewise/pace/a.hpp": '#include <cblas.h>\n',
    "pacewise/extras/a.hpp": "\n",
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
