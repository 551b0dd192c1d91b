"""`reproduce`: resumption, bad options, and on the real data a slice of the paper's Table 1 with its numbers."""
import csv
import os
import pathlib
import random
import signal
import struct
import subprocess
import time
import unittest

from harness import BINARY, ROOT, Case, gzip, idx_bytes, json, mat5_bytes, run, start

DATA = pathlib.Path(os.environ.get("PACEWISE_DATA", ROOT.parent / "shared" / "data"))
SETTINGS = {(d, graph, method): values for d, graph, method, *values, _ in
            csv.reader((pathlib.Path(__file__).parents[2] / "reproduce/settings.csv").read_text().splitlines())}
FILES = ["cells.csv", "report.html", "results.json", "tables.csv", "tuning.csv"]


def images(classes, per_class, side, seed):
    """Multiples of a few pictures with a little noise, class by class."""
    draw = random.Random(seed)
    centers = [[draw.randrange(60, 256) if draw.random() < 0.4 else 0 for _ in range(side * side)] for _ in range(classes)]
    rows, labels = [], []
    for k, center in enumerate(centers):
        for _ in range(per_class):
            scale = 0.6 + 0.4 * draw.random()
            rows.append([min(255, max(0, int(scale * v + draw.gauss(0, 20)))) for v in center])
            labels.append(k)
    return rows, labels


def write_data(folder):
    """Files of the same names and layouts as the real ones, small."""
    folder.mkdir()
    rows, labels = images(3, 8, 5, 1)
    (folder / "COIL20.mat").write_bytes(mat5_bytes(X=rows, Y=[[k + 1] for k in labels]))
    rows, labels = images(2, 30, 5, 2)  # 21 of each are used
    (folder / "PIE_pose27.mat").write_bytes(mat5_bytes(fea=[list(column) for column in zip(*rows)], gnd=[[k + 1] for k in labels]))
    rows, labels = images(2, 12, 4, 3)
    (folder / "mnist-t10k-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx_bytes(rows, 4)))
    (folder / "mnist-t10k-labels-idx1-ubyte.gz").write_bytes(
        gzip.compress(struct.pack(">II", 0x0801, len(labels)) + bytes(labels)))


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


class Reproduce(Case):
    def setUp(self):
        super().setUp()
        write_data(self.folder / "data")

    def table(self, out="out"):
        return {(r["dataset"], r["rho"], r["method"], r["protocol"], r["graph"], r["metric"]): r
                for r in rows_of(self.folder / out / "tables.csv")}

    def test_every_file_and_every_label(self):
        out, _ = self.call("reproduce", "all", "--data", "data", "--out", "out", "--quick", "--rho", "0,1", "--methods",
                           "OS,SC,CSC", "--graphs", "raw,half:40,clean", "--no-figures", "--progress", "none")
        self.assertEqual(sorted(p.name for p in (self.folder / "out").iterdir()), FILES)
        self.assertRegex(out.splitlines()[0], r"^COIL20, recommended protocol, half:40 graph \(no leakage\): .* - of 36: not computed$")
        self.assertIn("CMU-PIE, recommended protocol", out)
        # OS; SC with the beta of each protocol; CSC on raw, half:40 and clean, which without noise is raw; three data sets
        cells = rows_of(self.folder / "out/cells.csv")
        alike = {d: SETTINGS[d, "raw", "CSC"] == SETTINGS[d, "clean", "CSC"] for d in ("coil20", "mnist", "pie")}
        betas = sum(len({*SETTINGS[d, "half:40", "SC"][:1], *SETTINGS[d, "clean", "SC"][:1]}) for d in alike)
        self.assertEqual(len(cells), 3 * (2 + 3 + 3) + 2 * betas - sum(alike.values()))
        self.assertEqual({c["data"].split("-")[0] for c in cells}, {"24x25", "24x16", "42x25"})
        self.assertEqual({c["budget"] for c in cells if c["method"] != "OS"}, {"10"})
        self.assertEqual({c["iterations"] for c in cells if c["method"] == "CSC"}, {"10"})
        table = self.table()
        # 2 rho, 2 protocols, 4 metrics; OS and SC without a graph, CSC with three
        self.assertEqual(len(table), 3 * 2 * 2 * 4 * (1 + 1 + 3))
        for dataset, same in alike.items():
            if same:
                self.assertEqual(table[dataset, "0", "CSC", "paper", "raw", "nmi"]["mean"],
                                 table[dataset, "0", "CSC", "paper", "clean", "nmi"]["mean"])
        self.assertEqual(table["coil20", "0", "CSC", "paper", "clean", "acc"]["paper"], "0.732")
        self.assertEqual({r["leakage"] for k, r in table.items() if k[4] == "clean" and k[1] == "1"}, {"yes"})
        self.assertEqual({r["leakage"] for k, r in table.items() if k[4] != "clean"}, {"no"})
        result = json.loads((self.folder / "out/results.json").read_text())
        self.assertTrue(result["quick"])
        self.assertEqual(result["missing_cells"], {"coil20": 0, "mnist": 0, "pie": 0})
        self.assertEqual(len(result["tables"]), len(table))
        page = (self.folder / "out/report.html").read_text()
        self.assertLess(page.index("COIL20, recommended protocol"), page.index("<table"))
        self.assertNotRegex(page, r"(src|href)=\"?https?:")

    def test_figures(self):
        self.call("reproduce", "coil20", "--data", "data", "--out", "out", "--quick", "--rho", "1", "--methods", "OS", "--quiet")
        figures = json.loads((self.folder / "out/results.json").read_text())["figures"]["coil20"]
        self.assertEqual([c["method"] for c in figures["noise_and_weight"]], ["SPSC-E", "SPSC-S", "SPSC-F"])
        for course in figures["noise_and_weight"]:
            steps = course["steps"]
            self.assertEqual([s["iteration"] for s in steps], list(range(1, 11)))
            paced = [s for s in steps if s["correlation"] is not None]
            self.assertEqual([s["iteration"] for s in paced], list(range(4, 10)))
            self.assertLess(paced[0]["mean_weight"], 0.7)
            self.assertEqual(steps[-1]["mean_weight"], 1)
        page = (self.folder / "out/report.html").read_text()
        self.assertEqual(page.count("data:image/png"), 2 + len(paced))  # samples, atoms, a weight map per paced iteration

    def test_the_same_command_computes_nothing_twice(self):
        command = ("reproduce", "coil20", "--data", "data", "--out", "out", "--quick", "--rho", "0,0.5", "--methods", "OS,SC",
                   "--no-figures", "--progress", "none")
        out, _ = self.call(*command)
        self.assertIn("4 cells computed, 4 in out/cells.csv", out)
        before = (self.folder / "out/cells.csv").read_bytes()
        out, _ = self.call(*command)
        self.assertIn("0 cells computed, 4 in out/cells.csv", out)
        out, _ = self.call(*command[:-1], "none", "--seeds", "2")
        self.assertIn("4 cells computed, 8 in out/cells.csv", out)
        kept = rows_of(self.folder / "out/cells.csv")
        self.assertTrue(set(before.decode().splitlines()) <= set((self.folder / "out/cells.csv").read_text().splitlines()))
        self.assertEqual({r["seed"] for r in kept}, {"1", "2"})

    def test_results_do_not_depend_on_the_number_of_threads(self):
        for threads in ("1", "3"):
            self.call("reproduce", "coil20", "--data", "data", "--out", threads, "--quick", "--rho", "0.5", "--methods",
                      "OS,SC,CSC,SPSC-E", "--graphs", "half:40", "--no-figures", "--threads", threads, "--quiet")
        one, three = (rows_of(self.folder / t / "cells.csv") for t in ("1", "3"))
        for a, b in zip(one, three, strict=True):
            self.assertEqual({k: v for k, v in a.items() if k != "seconds"}, {k: v for k, v in b.items() if k != "seconds"})

    def test_resumes_after_an_interruption(self):
        command = ("reproduce", "coil20", "--data", "data", "--out", "out", "--no-tune", "--seeds", "3", "--methods", "OS,LSC-G,SPSC-E",
                   "--no-figures", "--threads", "1", "--progress", "none")
        cells = self.folder / "out/cells.csv"
        process = start(command, self.folder)
        for _ in range(600):
            if cells.exists() and len(cells.read_text().splitlines()) > 3:
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        out, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130, err)
        self.assertLess(time.monotonic() - began, 2)
        self.assertRegex(err, r"^pacewise: interrupted; \d+ finished cells are in out/cells\.csv, the same command goes on from there\n$")
        self.assertEqual(out, "")
        self.assertFalse((self.folder / "out/report.html").exists())
        kept = cells.read_text().splitlines()
        self.assertGreater(len(kept), 3)
        out, _ = self.call(*command)
        after = cells.read_text().splitlines()
        self.assertLessEqual(set(kept), set(after))  # with their seconds: none was computed again
        # seeds; OS; two methods with three graphs, of which two are one at rho 0 where they have the same settings
        alike = sum(SETTINGS["coil20", "raw", m] == SETTINGS["coil20", "clean", m] for m in ("LSC-G", "CSC"))
        whole = 3 * (6 + 2 * 6 * 3 - alike)
        self.assertEqual(len(after) - 1, whole)
        self.assertIn(f"{len(after) - len(kept)} cells computed, {whole} in out/cells.csv", out)

    def test_cached_shows_what_there_is(self):
        base = ("reproduce", "coil20", "--data", "data", "--out", "out", "--methods", "SC,CSC,SPSC-S", "--no-figures", "--progress", "none")
        self.call(*base, "--quick", "--rho", "0")
        before = (self.folder / "out/cells.csv").read_bytes()
        self.write("out/tuning.csv", b"the search of an earlier run")
        out, _ = self.call(*base, "--cached", "--rho", "0,1", "--graphs", "half:40", "--seeds", "2")
        self.assertEqual((self.folder / "out/cells.csv").read_bytes(), before)
        self.assertEqual((self.folder / "out/tuning.csv").read_bytes(), b"the search of an earlier run")
        self.assertIn("0 cells computed, 3 in", out)
        self.assertRegex(out, r"(?m)^SPSC-S +0\.\d+/0\.\d+ +-$")
        self.assertEqual({r["seeds"] for r in rows_of(self.folder / "out/tables.csv")}, {"1"})
        self.assertEqual(json.loads((self.folder / "out/results.json").read_text())["missing_cells"], {"coil20": 9})

    def test_tuning_follows_the_paper(self):
        self.call("reproduce", "mnist", "--data", "data", "--out", "out", "--seeds", "1", "--rho", "0", "--methods", "SC", "--no-figures",
                  "--quiet")
        tuning = rows_of(self.folder / "out/tuning.csv")
        self.assertEqual([(r["graph"], r["beta"]) for r in tuning],
                         [(g, b) for g in ("raw", "half:40", "clean") for b in ("0.08", "0.04", "0.02", "0.01", "0.005")])
        for graph in ("raw", "half:40", "clean"):
            rows = [r for r in tuning if r["graph"] == graph]
            best = max(rows, key=lambda r: float(r["acc"]))
            enough = float(best["acc"]) - float(best["acc_sd"])  # of those that will do, the sparsest
            self.assertEqual([r for r in rows if r["chosen"] == "yes"], [r for r in rows if float(r["acc"]) >= enough][:1])
            self.assertEqual({r["protocol"] for r in rows}, {"paper" if graph == "clean" else "recommended"})
        chosen = {r["beta"] for r in tuning if r["chosen"] == "yes"}
        cells = rows_of(self.folder / "out/cells.csv")
        self.assertEqual({c["beta"] for c in cells if c["seed"] == "1"}, chosen)
        self.assertEqual(len([c for c in cells if c["seed"] == "0"]), 5)

    def test_bad_calls(self):
        base = ("reproduce", "coil20", "--data", "data", "--out", "out", "--quick")
        for arguments, status, pattern in (
                (("reproduce", "cifar", "--data", "data"), 2, r"WHAT = cifar: must be coil20, mnist, pie, fashion or all"),
                (("reproduce", "coil20"), 2, r"--data"),
                (("reproduce", "--data", "data"), 2, r"WHAT"),
                ((*base, "--rho", "0,x"), 2, r"--rho 0,x: rho = x: must be a number in \[0, 10\]"),
                ((*base, "--rho", "-1"), 2, r"rho = -1"),
                ((*base, "--rho", "0,0"), 2, r"--rho 0,0: the same twice"),
                ((*base, "--rho", "0,"), 2, r"rho = : must"),
                ((*base, "--methods", "SC,PCA"), 2, r"method = PCA: must be OS, SC, LSC-G"),
                ((*base, "--graphs", "half:30"), 2, r"graph = half:30"),
                ((*base, "--graphs", "none"), 2, r"graph = none: must be raw, half:40 or clean"),
                ((*base, "--seeds", "0"), 2, r"seeds"),
                ((*base, "--seeds", "many"), 2, r"seeds"),
                ((*base, "--threads", "-1"), 2, r"threads"),
                ((*base, "--progress", "loud"), 2, r"progress = loud"),
                (("reproduce", "coil20", "--data", "nowhere"), 3, r"nowhere/COIL20\.mat: no such file; get it from .* put it there"),
                (("reproduce", "mnist", "--data", "."), 3, r"mnist-t10k-images-idx3-ubyte\.gz: no such file"),
                (("reproduce", "fashion", "--data", "."), 3, r"\./t10k-images-idx3-ubyte\.gz: no such file; .*dataset-fashion-mnist"),
                ((*base, "--settings", "nowhere.csv"), 3, r"nowhere\.csv: cannot be read"),
                ((*base[:4], "--out", "data.npy/x"), 4, r"data\.npy/x: cannot make this folder")):
            with self.subTest(arguments):
                code, out, err = run(arguments, self.folder)
                self.assertEqual(code, status, err)
                self.assertEqual(out, "")
                self.assertRegex(err, pattern)
                lines = [line for line in err.splitlines() if line != "reading images"]
                self.assertEqual(len(lines), 1, err)
                self.assertTrue(lines[0].startswith("pacewise: "), err)

    def test_own_settings(self):
        head = "dataset,graph,method,beta,alpha,gamma,eta,k,source\n"
        self.write("own.csv", (head + "pie,half:40,CSC,0.03,2,0.5,7,4,mine\n").encode())
        command = ("reproduce", "pie", "--data", "data", "--out", "out", "--settings", "own.csv", "--rho", "0", "--seeds", "1",
                   "--methods", "SC,CSC,SPSC-S", "--graphs", "half:40", "--no-figures", "--progress", "none")
        out, _ = self.call(*command)
        self.assertRegex(out, r"(?m)^CMU-PIE +half:40 +SPSC-S +0\.03 +2 +0\.5 +7 +4 +mine$")
        cells = {c["method"]: c for c in rows_of(self.folder / "out/cells.csv")}  # nothing was tuned
        for method in ("CSC", "SPSC-S"):
            self.assertEqual([cells[method][k] for k in ("beta", "alpha", "gamma", "eta", "k")], ["0.03", "2", "0.5", "7", "4"])
        self.assertIn(cells["SC"]["beta"], {SETTINGS["pie", g, "SC"][0] for g in ("half:40", "clean")})
        for line, pattern in (("coil,half:40,CSC,0.03,2,0.5,7,4,mine", "data set = coil: must be coil20, mnist, pie or fashion"),
                              ("pie,half:41,CSC,0.03,2,0.5,7,4,mine", "graph = half:41"),
                              ("pie,half:40,CSD,0.03,2,0.5,7,4,mine", "method = CSD"),
                              ("pie,half:40,CSC,0.03,-2,0.5,7,4,mine", "must be finite and >= 0"),
                              ("pie,half:40,CSC,0.03,inf,0.5,7,4,mine", "must be finite and >= 0"),
                              ("pie,half:40,CSC,0.03,2,0.5,0,4,mine", "eta must be > 0 where gamma is"),
                              ("pie,half:40,CSC,0.03,2,0.5,7,0,mine", "k must be >= 1"),
                              ("pie,half:40,CSC,0.03,2,0.5,7,mine", "8 fields instead of 9")):
            with self.subTest(line):
                self.write("own.csv", (head + line + "\n").encode())
                _, err = self.call(*command, status=3)
                self.assertTrue(err.startswith("pacewise: own.csv: line 2: "), err)
                self.assertIn(pattern, err)
                self.assertEqual(err.count("\n"), 1)

    def test_fashion(self):
        rows, labels = images(2, 12, 4, 4)
        self.write("data/t10k-images-idx3-ubyte.gz", gzip.compress(idx_bytes(rows, 4)))
        self.write("data/t10k-labels-idx1-ubyte.gz", gzip.compress(struct.pack(">II", 0x0801, len(labels)) + bytes(labels)))
        out, _ = self.call("reproduce", "fashion", "--data", "data", "--out", "out", "--quick", "--rho", "1", "--methods", "OS,SC",
                           "--progress", "none")
        self.assertIn("Fashion-MNIST, recommended protocol, half:40 graph", out)
        self.assertIn("Fig. 1: Fashion-MNIST under noise", (self.folder / "out/report.html").read_text())

    def test_a_damaged_cache_is_refused(self):
        command = ("reproduce", "coil20", "--data", "data", "--out", "out", "--quick", "--rho", "0", "--methods", "OS,SC",
                   "--no-figures", "--quiet")
        self.call(*command)
        cells = self.folder / "out/cells.csv"
        good = cells.read_text()
        cells.write_text(good[:-20])
        _, err = self.call(*command, status=3)
        self.assertEqual(err, "pacewise: out/cells.csv: line 3: it is cut off; remove the line or the file\n")
        self.assertEqual(cells.read_text(), good[:-20])

    def test_other_images_of_the_same_name_are_other_cells(self):
        command = ("reproduce", "coil20", "--data", "data", "--out", "out", "--quick", "--rho", "0", "--methods", "OS",
                   "--no-figures", "--progress", "none")
        self.call(*command)
        rows, labels = images(3, 8, 5, 9)
        self.write("data/COIL20.mat", mat5_bytes(X=rows, Y=[[k + 1] for k in labels]))
        out, _ = self.call(*command)
        self.assertIn("1 cells computed, 2 in out/cells.csv", out)

    @unittest.skipUnless((DATA / "COIL20.mat").is_file(), "the evaluation data (PACEWISE_DATA) are not there")
    def test_a_slice_of_table_1(self):
        """Quick mode, one seed: about .896 (CSC) and .899 (SPSC-S) against .589 (SC) at rho 0, .80, .81, .62 at rho 1."""
        done = subprocess.run([BINARY, "reproduce", "coil20", "--data", DATA, "--out", "out", "--quick", "--rho", "0,1", "--methods",
                               "SC,CSC,SPSC-S", "--graphs", "half:40", "--no-figures", "--quiet"], cwd=self.folder,
                              capture_output=True, text=True, timeout=280)
        self.assertEqual(done.returncode, 0, done.stderr)
        table = self.table()

        def mean(rho, method, metric, protocol="recommended"):
            return float(table["coil20", rho, method, protocol, "none" if method == "SC" else "half:40", metric]["mean"])

        for rho in ("0", "1"):
            for metric, margin in (("acc", 0.1), ("nmi", 0.08)):
                self.assertGreater(mean(rho, "CSC", metric), mean(rho, "SC", metric) + margin)
                paper = float(table["coil20", rho, "SPSC-S", "recommended", "half:40", metric]["paper"])
                self.assertGreaterEqual(mean(rho, "SPSC-S", metric), paper)
        count = json.loads((self.folder / "out/results.json").read_text())["targets"]["recommended"]["coil20"]
        self.assertEqual((count["reached"], count["compared"]), (4, 4))


if __name__ == "__main__":
    unittest.main()
