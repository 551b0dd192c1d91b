"""What a first hour may bring. The rule: one clear line and the right status, or a right answer."""
import os
import signal
import struct
import threading
import time
import unittest

from harness import Case, csv_text, json, npy_bytes, planted, run, start

NAN = float("nan")
ROWS, _ = planted()
FIT = ("fit", "{data}", "-o", "out.pw", "--atoms", "4", "--max-iter", "30")
WIDE = ("--normalize", "none")


def changed(sample, feature, value, rows=ROWS):
    rows = [list(row) for row in rows]
    rows[sample][feature] = value
    return rows


def times(factor):
    return [[factor * x for x in row] for row in ROWS]


RANGE = r"values: \S+ at sample \d+, feature \d+ is the largest in size.*: must be between 1e-12 and 1e12; "
# name, content of the data file, more arguments, status, pattern of the last line
DATA = [
    ("float_e19.npy", npy_bytes(times(1e19), "<f4"), (*WIDE, "--pace", "quantile"), 3, RANGE),
    ("float_e19_single.npy", npy_bytes(times(1e19), "<f4"), (*WIDE, "--precision", "single"), 3, RANGE),
    ("double_e160.npy", npy_bytes(times(1e160)), (*WIDE, "--level", "none"), 3, RANGE),
    ("float_e-20.npy", npy_bytes(times(1e-20), "<f4"), (*WIDE, "--pace", "quantile"), 3, RANGE + "scale the data"),
    ("no_data.npy", npy_bytes(changed(3, 5, -3.4028235e38), "<f4"), (*WIDE, "--pace", "quantile", "--precision", "single"), 3,
     r"values: -3\.4028234\S+ at sample 3, feature 5 .*say so \(missing = -3\.4028234"),
    ("no_data_sample.npy", npy_bytes(changed(3, 5, -3.4028235e38), "<f4"), (*WIDE, "--level", "sample"), 3, r"sample 3, feature 5"),
    ("no_data_unit.npy", npy_bytes(changed(3, 5, -3.4028235e38), "<f4"), (), 3, r"sample 3, feature 5 .*missing = "),
    ("tiny_eta.npy", npy_bytes(ROWS), ("--eta", "1e-300"), 2, r"eta = 1e-300: must be >= 1e-100 when gamma > 0"),
    ("zeros.bin", b"\0" * 100000, (), 3, r"zeros\.bin: its format is not known"),
]


NAMES = "id,a,b,c\n"
GOOD = "".join(f"r{j},{j % 7},{j * j % 11},{j % 5}\n" for j in range(30))
GRID = "".join(f"{j % 7},{j * j % 11},{j % 5}\n" for j in range(30))
WIDE_ROW = ",".join("1" for _ in range(3000)) + "\n"
# tables as people have them, and worse: what is written, status of impute (None: 0 or 3), more arguments
TABLES = [
    (NAMES + GOOD, 0, ()), (NAMES + GOOD.replace("3", ""), 0, ()), (NAMES + GOOD.replace("3", "NA"), 0, ()),
    (NAMES + GOOD.replace("3", "?"), None, ()), (NAMES + GOOD.replace("3", "#N/A"), None, ()), (NAMES + GOOD.replace("3", "-"), None, ()),
    (NAMES + GOOD.replace("3", "1e400"), None, ()), (NAMES + GOOD.replace("3", "0x1f"), None, ()), (NAMES + GOOD.replace("3", "1_000"), None, ()),
    (NAMES + GOOD.replace(",", ";"), None, ()), ((NAMES + GOOD).replace(",", ";"), 0, ()), ((NAMES + GOOD).replace(",", "\t"), 0, ()),
    ((NAMES + GOOD).replace("\n", "\r\n"), 0, ()), ((NAMES + GOOD).replace("\n", "\r"), None, ()), ("\ufeff" + NAMES + GOOD, 0, ()),
    ((NAMES + GOOD).encode("utf-16"), 3, ()), (NAMES.replace("a", "\u00e4\u00f6") + GOOD, 0, ()), (NAMES.replace("a", "x" * 5000) + GOOD, 0, ()),
    (NAMES.replace("b", "a") + GOOD, None, ()), (NAMES.replace("b", "") + GOOD, None, ()), ("id,a\n" + GOOD, 3, ()), (NAMES.strip() + ",d\n" + GOOD, 3, ()),
    (NAMES + GOOD + "r31,1,2\n", 3, ()), (NAMES + GOOD + "\n\n\n", 0, ()), ("\n\n" + NAMES + GOOD, None, ()), ("# note\n" + NAMES + GOOD, None, ()),
    (NAMES + GOOD + "total,90,90,90\n", 0, ()), (NAMES + "r0,1,2,3\n", 0, ()), (NAMES + "r0,,,\n", 3, ()), (NAMES, 3, ()), ("a\n", 3, ()), ("1\n", None, ()), ("1\n2\n", None, ()),
    (GRID, 0, ()), (GRID.replace("4", "inf"), 3, ()), (GRID.replace("4", "-Infinity"), 3, ()), (GRID.replace("4", "nan"), 0, ()), (GRID.replace("4", '"4"'), 0, ()),
    (GRID.replace("4", '"4'), None, ()), (GRID.replace("4", "four"), None, ()), (GRID.replace(",", " , "), 0, ()), (GRID.replace(",", ",,"), None, ()),
    ("1e-300,2\n" * 9 + "3e-300,4\n" * 9, None, ()), ("1e300,2\n" * 9 + "3e300,4\n" * 9, None, ()), ("1e19,-1e19\n" * 9 + "3e19,4\n" * 9, None, ()),
    ("5,5,5\n" * 20, 0, ()), ("0,0,0\n" * 20, 0, ()), ("5,1,5\n" * 9 + "5,,5\n" * 9, 0, ()), (WIDE_ROW * 2, None, ()), ("1,2,3\n", None, ()), ("7,,9\n", None, ()),
    (GRID, 0, ("--missing", "4")), (GRID, 3, ("--columns", "9")), (GRID, 3, ("--drop", "1,2,3")), (GRID, 3, ("--id", "5")), (NAMES + GOOD, 3, ("--columns", "a,zz")),
    (NAMES + GOOD, 0, ("--columns", "a,c")), (NAMES + GOOD, 0, ("--drop", "b")), (NAMES + GOOD, 0, ("--id", "a")), (NAMES + GOOD, 3, ("--id", "none", "--columns", "id,a")),
    (NAMES + GOOD, 0, ("--categorical", "a")), (NAMES + GOOD, 0, ("--categorical", "all")), (NAMES + GOOD, None, ("--label-column", "c")), (NAMES + GOOD, 3, ("--label-column", "q")),
    (NAMES + GOOD, 2, ("--kind", "cube")), (NAMES + GOOD, 2, ("--missing", "none")), (NAMES + GOOD, 2, ("--atoms", "-3")), (NAMES + GOOD, 0, ("--kind", "images")),
    (NAMES + GOOD, 0, ("--weights", "table.csv")), (NAMES + GOOD, 3, ("--weights", "nothing.npy")), (NAMES + GOOD, 2, ("--cells", "x.csv")),
]  # fmt: skip


class Hostile(Case):
    def test_tables(self):
        self.assertGreaterEqual(len(TABLES), 60)
        for number, (content, wanted, more) in enumerate(TABLES):
            with self.subTest(number=number, head=content[:40], more=more):
                self.write("table.csv", content)
                status, out, err = run(("impute", "table.csv", "-o", "out.csv", *more), self.folder)
                self.assertIn(status, (0, 3) if wanted is None else (wanted,), err)
                self.assertNotRegex(err + out, "std::|json|terminate|Assertion")
                self.assertEqual(err.count("pacewise: "), 1 if status else 0, err)
                path = self.folder / "out.csv"
                self.assertEqual(path.exists(), status == 0)
                if status == 0:
                    self.assertNotIn("inf", path.read_text())
                    if not more:  # what is there stays, and nothing is left missing
                        again, _, _ = run(("impute", "out.csv", "-o", "again.csv"), self.folder)
                        self.assertEqual(again, 0)
                        self.assertEqual(path.read_text(), (self.folder / "again.csv").read_text())
                        status, out, err = run(("clean", "table.csv", "-o", "again.csv", "--cells", "cells.csv"), self.folder)
                        self.assertEqual(status, 0, err)
                    path.unlink()

    def fit(self, name, *more, status=0):
        return self.call(*[a.format(data=name) for a in FIT], *more, status=status)

    def test_data(self):
        for name, content, more, status, pattern in DATA:
            with self.subTest(name):
                self.write(name, content)
                _, err = self.fit(name, *more, status=status)
                last = err.strip().splitlines()[-1]
                (self.folder / name).unlink()
                self.assertRegex(last, "^pacewise: .*" + pattern)
                self.assertEqual(err.count("pacewise: "), 1, err)
                self.assertFalse((self.folder / "out.pw").exists(), name)

    def test_a_time_limit_holds_for_all_that_is_done(self):
        os.mkfifo(self.folder / "pipe")

        def feed():
            with open(self.folder / "pipe", "w") as pipe:
                time.sleep(0.5)
                pipe.write(csv_text(ROWS))

        writer = threading.Thread(target=feed)
        writer.start()
        self.fit("pipe", "--max-seconds", "0.4", status=1)  # over when it has been read
        writer.join()
        self.assertRegex(self.call("info", "out.pw")[0], r"iterations +0\nphase .*\nended +time_limit")
        self.write("many.npy", npy_bytes([row[:6] for row in planted(3000, 6, 5)[0]]))
        self.write("labels.npy", npy_bytes([j % 40 for j in range(3000)], "<i4"))
        self.call("fit", "many.npy", "-o", "m.pw", "--max-seconds", "0.001", "--labels", "labels.npy", "--json", "m.json", status=1)
        self.assertEqual(json.loads((self.folder / "m.json").read_text())["clustering"]["runs"], 1)

    def test_columns_are_chosen_of_text_alone(self):
        os.mkdir(self.folder / "pictures")
        for name in ("data.npy", "pictures"):
            for option in ("--columns", "--drop", "--id", "--categorical", "--label-column"):
                with self.subTest(name=name, option=option):
                    _, err = self.call("impute", name, "-o", "o.npy", option, "1", status=3)
                    self.assertRegex(err.splitlines()[-1], f"^pacewise: {name}: is (npy|a folder), and only a CSV has columns")

    def test_the_file_at_fault_is_named(self):
        for option, file, words in (("--dictionary", "labels.npy", "has 1 columns, one for each feature; the data 16"),
                                    ("--start-codes", "short.npy", "has 3 rows, one for each sample; the data 48")):
            self.write("short.npy", npy_bytes(ROWS[:3]))
            _, err = self.fit("data.npy", option, file, status=3)
            self.assertEqual(err.splitlines()[-1], f"pacewise: {file}: {words}")

    def test_converged_means_it(self):
        for more in (("--alpha", "1e300"), ("--l2", "1e300")):
            _, err = self.call("fit", "data.npy", "-o", "out.pw", "--atoms", "4", "--quiet", *more, status=1)
            self.assertRegex(err, r"^pacewise: warning: the tolerance was not reached: numerical_trouble, .*residual of")

    def test_the_end_of_the_polish_is_the_end_of_the_run(self):
        self.call("fit", "data.npy", "-o", "out.pw", "--atoms", "4", "--tol", "0", "--polish", "5", "--pace", "quantile", "--quiet")
        self.assertRegex(self.call("info", "out.pw")[0], "iterations +16")

    def test_a_value_that_means_missing_is_as_good_as_nan(self):
        for mark in (-999.0, -3.4028234663852886e38):
            self.write("marked.npy", npy_bytes(changed(3, 5, mark, changed(7, 2, mark))))
            self.write("nan.npy", npy_bytes(changed(3, 5, NAN, changed(7, 2, NAN))))
            for name, more in (("marked", ("--missing", mark)), ("nan", ())):
                self.call("fit", f"{name}.npy", "-o", f"{name}.pw", "--atoms", "4", "--codes", f"{name}_codes.csv", "--quiet", *more)
                self.call("mend", f"{name}.pw", f"{name}.npy", "-o", f"{name}_mended.csv")
            for what in ("codes", "mended"):
                self.assertEqual((self.folder / f"marked_{what}.csv").read_text(), (self.folder / f"nan_{what}.csv").read_text())

    def test_files_of_another_kind_are_kept(self):
        self.fit("data.npy", status=1)
        for name, content in (("wine.csv", csv_text(ROWS)), ("page.html", "<!doctype html>"), ("a.json", "{}"), ("a.npy", npy_bytes(ROWS)),
                              ("a.mtx", "%%MatrixMarket matrix array real general\n1 1\n1\n")):
            self.write(name, content)
        keep = {p.name: p.read_bytes() for p in self.folder.iterdir()}
        for arguments in (("fit", "data.npy", "-o", "wine.csv"), ("fit", "data.npy", "-o", "new.pw", "--report", "wine.csv"),
                          ("fit", "data.npy", "-o", "new.pw", "--json", "page.html"), ("fit", "data.npy", "-o", "new.pw", "--checkpoint", "a.npy"),
                          ("cluster", "data.npy", "--clusters", "2", "--json", "wine.csv"), ("demo", "-o", "out.pw"),
                          ("graph", "data.npy", "-o", "out.pw"), ("encode", "out.pw", "data.npy", "-o", "out.pw"),
                          ("evaluate", "labels.npy", "labels.npy", "--json", "labels.npy")):
            with self.subTest(" ".join(arguments)):
                _, err = self.call(*arguments, status=2)
                self.assertRegex(err, r"^pacewise: --\S+ = \S+ (is there and holds no|is the file of)|must end in")
                self.assertEqual({p.name: p.read_bytes() for p in self.folder.iterdir()}, keep)
        self.fit("data.npy", "--json", "wine.csv", "--force", status=1)
        self.assertTrue((self.folder / "wine.csv").read_text().startswith("{"))
        self.fit("data.npy", "--json", "wine.csv", status=1)  # its own kind
        kept = (self.folder / "out.pw").read_bytes()
        for option in ("--json", "--report"):  # nor what a run is resumed from, even so
            _, err = self.call("fit", "data.npy", "-o", "on.pw", "--resume", "out.pw", option, "out.pw", "--force", status=2)
            self.assertIn(f"{option} = out.pw is the file of --resume", err)
            self.assertEqual((self.folder / "out.pw").read_bytes(), kept)

    def test_a_pipe_that_nobody_writes_to_ends_with_the_first_signal(self):
        os.mkfifo(self.folder / "pipe")
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            with self.subTest(number):
                process = start(("fit", "pipe", "-o", "out.pw"), self.folder)
                process.stderr.readline()  # reading pipe
                time.sleep(0.1)
                process.send_signal(number)
                _, err = process.communicate(timeout=10)
                self.assertEqual(process.returncode, 130, err)
                self.assertRegex(err, "interrupted while reading pipe; nothing was written")

    def test_a_pipe_with_data_is_read(self):
        os.mkfifo(self.folder / "pipe")
        writer = threading.Thread(target=lambda: (self.folder / "pipe").write_text(csv_text(ROWS)))
        writer.start()
        self.fit("pipe", status=1)
        writer.join()

    def test_endless_devices(self):
        for device in ("/dev/zero", "/dev/urandom"):
            began = time.monotonic()
            _, err = self.fit(device, status=3)
            self.assertRegex(err.splitlines()[-1], r"^pacewise: /dev/\w+: ")
            self.assertLess(time.monotonic() - began, 10)

    def test_more_threads_than_anyone_has(self):
        self.fit("data.npy", "--threads", "10000", "--codes", "many.npy", status=1)
        self.fit("data.npy", "--threads", "1", "--codes", "one.npy", status=1)
        self.assertEqual((self.folder / "many.npy").read_bytes(), (self.folder / "one.npy").read_bytes())


if __name__ == "__main__":
    unittest.main()
