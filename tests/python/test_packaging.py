"""The wheel as a user gets it: what it carries, that it works in an empty environment, and beside other libraries."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import textwrap
import time
import zipfile
from importlib.metadata import version

import pytest

import pacewise

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PACEWISE_PYTHON_BUILD", ROOT / "build/python"))


@pytest.fixture(scope="module")
def wheel():
    """The one that tools/python-env built, repaired and installed here."""
    (found,) = (BUILD / "wheel").glob("pacewise-*.whl")
    return found


def run(python, script, **environment):
    done = subprocess.run([python, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=120, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_carries_its_libraries_and_no_others(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    given = (ROOT / "VERSION").read_text().strip()
    assert pacewise.__version__ == version("pacewise") == given and given not in (ROOT / "pyproject.toml").read_text()
    libraries = {re.sub(r"[-.].*", "", pathlib.Path(name).name) for name in names if name.startswith("pacewise.libs/lib")}
    assert libraries == {"libopenblasp", "libgomp", "libgfortran", "libquadmath"}
    assert wheel.stat().st_size < 14e6
    assert "pacewise/py.typed" in names
    assert "manylinux" in wheel.name
    # one wheel for every Python from 3.12 on; before, nanobind has no stable ABI to offer
    assert ("-abi3-" in wheel.name) == (sys.version_info >= (3, 12))
    assert not any(name.endswith((".cpp", ".hpp", ".a")) for name in names)


SMOKE = """
    import json, pathlib, numpy as np, pacewise
    began = __import__("time").perf_counter()
    data = pacewise.datasets.synthetic(100, 16, 3, random_state=0)
    coder = pacewise.SelfPacedSparseCoder(10, beta=0.02, graph="none", final=0.9, polish=0, random_state=0).fit(data.data)
    assert coder.certificate_["codes"] < 1e-4, coder.certificate_
    assert coder.weights_[data.corrupted].mean() < coder.weights_[~data.corrupted].mean() - 0.2
    np.save("x.npy", data.data)
    assert (pacewise.datasets.load("x.npy").data == data.data).all()
    assert pacewise.SelfPacedSparseCoder(10, random_state=0).fit_transform(data.data).shape == (100, 10)
    maps = pathlib.Path("/proc/self/maps").read_text()
    print(json.dumps({"file": pacewise.__file__, "blas": [line.split()[-1] for line in maps.splitlines() if "openblas" in line]}))
"""


def test_smoke_in_a_fresh_environment(wheel, tmp_path, monkeypatch):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    python = tmp_path / "venv/bin/python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile", "--disable-pip-version-check"]
    subprocess.run([*pip, wheel], check=True, timeout=300)
    began = time.monotonic()
    monkeypatch.chdir(tmp_path)
    seen = json.loads(run(python, SMOKE))
    assert time.monotonic() - began < 15
    assert seen["file"].startswith(str(tmp_path))
    ours = [path for path in seen["blas"] if "pacewise.libs" in path]
    assert ours, "the BLAS is the wheel's own"
    assert not any(path.startswith(("/usr", "/lib")) for path in seen["blas"]), "and none of the system's"


def test_importing_is_cheap():
    out = run(sys.executable, """
        import sys, pacewise
        slow = ("sklearn", "matplotlib", "pandas", "h5py", "PIL")
        print([name for name in slow if name in sys.modules])
        assert set(pacewise.__all__) <= set(dir(pacewise))
        for name in pacewise.__all__:
            getattr(pacewise, name)
        print([name for name in slow if name in sys.modules])
    """)  # fmt: skip
    first, second = out.splitlines()
    assert first == "[]"
    assert "sklearn" in second and "matplotlib" in second


KERNELS = """
    import ctypes, os, pathlib
    import numpy as np
    np.ones((50, 50)) @ np.ones((50, 50))  # NumPy's OpenBLAS comes first
    import pacewise
    maps = pathlib.Path("/proc/self/maps").read_text()
    (path,) = {line.split()[-1] for line in maps.splitlines() if "pacewise.libs/libopenblas" in line}
    blas = ctypes.CDLL(path)
    blas.openblas_get_corename.restype = ctypes.c_char_p
    given = os.environ.get("OPENBLAS_CORETYPE")
    if given is None:  # as on a processor that this OpenBLAS does not know
        os.environ["OPENBLAS_CORETYPE"] = "Prescott"
        blas.gotoblas_dynamic_quit()
        blas.gotoblas_dynamic_init()
        del os.environ["OPENBLAS_CORETYPE"]
        assert blas.openblas_get_corename() == b"Prescott"
    pacewise.knn_graph(np.random.default_rng(0).standard_normal((100, 5)))
    assert os.environ.get("OPENBLAS_CORETYPE") == given
    print(blas.openblas_get_corename().decode())
"""


@pytest.mark.parametrize("given", [None, "Nehalem"])
def test_blas_kernels_are_chosen_by_the_first_call(given, monkeypatch):
    flags = pathlib.Path("/proc/cpuinfo").read_text()
    if not re.search(r"\bavx2\b", flags):
        pytest.skip("the processor has nothing better than the fallback")
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    kernels = run(sys.executable, KERNELS, **({} if given is None else {"OPENBLAS_CORETYPE": given})).strip()
    assert kernels == given if given else kernels in ("Haswell", "SkylakeX")


BESIDE = """
    import os, threading, time
    {imports}
    import numpy as np, pacewise
    from threadpoolctl import threadpool_info, threadpool_limits

    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 64))
    infos = [i for i in threadpool_info() if "pacewise.libs" in i["filepath"]]
    assert sorted(i["user_api"] for i in infos) == ["blas", "openmp"], infos
    before = threadpool_info()
    most, done = 0, threading.Event()
    coder = pacewise.SelfPacedSparseCoder(32, beta=0.1, n_threads=2, max_iter=4, random_state=0)
    base = len(os.listdir("/proc/self/task"))

    def watch():
        global most
        while not done.wait(0.002):
            most = max(most, len(os.listdir("/proc/self/task")))

    watcher = threading.Thread(target=watch)
    watcher.start()
    first = coder.fit(X).components_.copy()
    done.set()
    watcher.join()
    # two of ours, the one that works while Python waits, the watcher: BLAS starts none of its own inside a fit
    assert most - base <= 4, f"{{most - base}} threads came"
    {work}
    with threadpool_limits(1):
        limited = coder.set_params(n_threads=None).fit(X).components_
    assert (first == limited).all()
    after = {{i["filepath"]: i["num_threads"] for i in threadpool_info()}}  # with scikit-learn, which the coder imports
    assert all(after[i["filepath"]] == i["num_threads"] for i in before)
    print("fine")
"""
OTHERS = {
    "scikit-learn": ("import sklearn.cluster", "sklearn.cluster.KMeans(5, n_init=2).fit(X)"),
    "scipy": ("import scipy.linalg", "scipy.linalg.svd(X)"),
    "faiss": ("import faiss", "i = faiss.IndexFlatL2(64); i.add(X.astype('f')); assert (i.search(X.astype('f'), 1)[1][:, 0] == range(400)).all()"),
}


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("order", ["before", "after"])
def test_beside_other_libraries(other, order):
    imports, work = OTHERS[other]
    imports = f"{imports}\n    import pacewise" if order == "before" else f"import pacewise\n    {imports}"
    # more threads than a BLAS of ours may use: were it to use them inside our blocks, they would be seen
    environment = {"PYTHONWARNINGS": "ignore", "OPENBLAS_NUM_THREADS": "8"}
    assert "fine" in run(sys.executable, BESIDE.format(imports=imports, work=work), **environment)


def test_too_many_threads_would_be_seen():
    with pytest.raises(AssertionError, match="threads came"):
        run(sys.executable, BESIDE.replace("n_threads=2", "n_threads=12").format(imports="", work=""))


PROGRAM = """
import numpy as np
import pacewise
from numpy.typing import NDArray

X = np.ones((4, 3))
coder: pacewise.SelfPacedSparseCoder = pacewise.SelfPacedSparseCoder(2, beta=0.1, verbose="bar").fit(X)
codes: NDArray = coder.transform(X)
S, certificate = pacewise.sparse_encode(X, X, beta=0.1, return_certificate=True)
bound: float = certificate
params: dict = pacewise.model_selection.choose_by_held_out_entries(coder, X).params
pacewise.SelfPacedSparseCoder(2, beta="much")  # wrong
pacewise.sparse_encode(X, X, beta=0.1).no_such_thing  # wrong
pacewise.kmeans(X, 2, init="best")  # wrong
"""


def test_types(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    mypy = [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", "--cache-dir", tmp_path / "cache"]
    itself = subprocess.run([*mypy, "-p", "pacewise"], capture_output=True, text=True, cwd=tmp_path)
    assert itself.returncode == 0, itself.stdout
    done = subprocess.run([*mypy, program], capture_output=True, text=True, cwd=tmp_path)
    faults = re.findall(r"^program\.py:(\d+): error", done.stdout, re.MULTILINE)
    wrong = [str(number) for number, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith("# wrong")]
    assert faults == wrong, done.stdout + done.stderr


def test_the_source_archive_has_what_a_build_needs(tmp_path):
    program = f"from scikit_build_core.build import build_sdist; print(build_sdist({str(tmp_path)!r}))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    with tarfile.open(next(tmp_path.glob("pacewise-*.tar.gz"))) as archive:
        inside = {member.name.partition("/")[2]: member.size for member in archive if member.isfile()}
    for folder in ("pacewise", "python", "cmake"):
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                assert inside.get(str(path.relative_to(ROOT))) == path.stat().st_size, path
    assert {"VERSION", "CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE"} <= set(inside)
    assert not [name for name in inside if name.split("/")[0] in ("build", ".git", ".venv", "dist")]
