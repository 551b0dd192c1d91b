"""The commands on good input: round trips, schema, silence, documents."""
import os
import re
import struct
import subprocess
import sys
import unittest
import zipfile

from harness import (BINARY, Case, ROOT, csv_text, gzip, idx_bytes, json, mtx_text, npy_bytes, planted, read_container, read_npy,
                     run, with_header)

EASY = ("--tol", "1e-3", "--polish", "100")  # what reaches its tolerance soon
ENDED = {"converged", "iteration_limit", "time_limit", "cancelled", "numerical_trouble"}


class RoundTrips(Case):
    def fit_and_verify(self, data, *options):
        code, out, err = run(["fit", data, "-o", "m.pw", "--atoms", "6", "--max-iter", "60", *options], self.folder)
        self.assertIn(code, (0, 1), err)
        out, _ = self.call("verify", "m.pw", data)
        self.assertIn("verified: every figure agrees", out)
        self.assertNotIn("NO", out.split("verified")[0])

    def test_every_format(self):
        with zipfile.ZipFile(self.folder / "data.npz", "w") as archive:
            archive.writestr("X.npy", npy_bytes(self.rows))
            archive.writestr("y.npy", npy_bytes(self.labels, "<i4"))
        grey = [[min(255, max(0, int(100 + 40 * x))) for x in row] for row in self.rows]
        self.write("data.csv", csv_text(self.rows))
        self.write("named.tsv", "\t".join(f"f{i}" for i in range(16)) + "\n" + csv_text(self.rows).replace(",", "\t"))
        self.write("data.csv.gz", gzip.compress(csv_text(self.rows).encode()))
        self.write("data.mtx", mtx_text(self.rows))
        self.write("data-idx3-ubyte", idx_bytes(grey, 4))
        self.write("single.npy", npy_bytes(self.rows, "<f4"))
        for name in ("data.npy", "data.npz", "data.csv", "named.tsv", "data.csv.gz", "data.mtx", "data-idx3-ubyte", "single.npy"):
            with self.subTest(name):
                self.fit_and_verify(name)

    def test_every_level_and_pace(self):
        for options in (("--level", "none"), ("--level", "sample", "--polish", "0"), ("--level", "feature", "--polish", "0"),
                        ("--level", "element", "--polish", "0", "--final", "0.9"), ("--preset", "paper"),
                        ("--precision", "single"), ("--precision", "single", "--polish", "0", "--level", "sample"),
                        ("--normalize", "standard"), ("--graph", "none"), ("--regularizer", "welsch"),
                        ("--regularizer", "polynomial", "--power", "2.5"), ("--max-iter", "13"), ("--max-iter", "2")):
            with self.subTest(options):
                extra = [x for x in options if options[0] != "--max-iter"]
                if extra:
                    self.fit_and_verify("data.npy", *extra)
                else:
                    self.call("fit", "data.npy", "-o", "m.pw", "--atoms", "6", *options, status=1)
                    self.call("verify", "m.pw", "data.npy")

    def test_the_same_data_in_other_formats_give_the_same_model(self):
        self.write("data.csv", csv_text(self.rows))
        self.write("data.mtx", mtx_text(self.rows))
        codes = []
        for name in ("data.npy", "data.csv", "data.mtx"):
            self.call("fit", name, "-o", "m.pw", "--atoms", "5", *EASY, "--codes", "c.npy", "--quiet")
            codes.append(read_npy(self.folder / "c.npy"))
        self.assertEqual(codes[0], codes[1])
        self.assertEqual(codes[0], codes[2])

    def test_threads_do_not_matter(self):
        for threads in ("1", "3"):
            self.call("fit", "data.npy", "-o", f"m{threads}.pw", "--atoms", "5", *EASY, "--threads", threads, "--quiet")
        arrays = [read_container(self.folder / f"m{t}.pw")[1] for t in ("1", "3")]
        for name in ("dictionary", "codes_value", "consistency"):
            self.assertEqual(arrays[0](name), arrays[1](name))

    def test_verify_finds_a_lie(self):
        self.call("fit", "data.npy", "-o", "m.pw", "--atoms", "6", *EASY, "--quiet")
        good = (self.folder / "m.pw").read_bytes()

        def more(part, factor):
            return lambda h: h["objective_parts"].update({part: h["objective_parts"][part] * factor})

        for change in (more("fit", 1.001), more("sparsity", 0.999), more("manifold", 1.01), more("consistency", 1.01),
                       lambda h: h["certificate"].update(codes=0.5), lambda h: h["certificate"].update(dictionary=0),
                       lambda h: h.update(selected=0.2), lambda h: h.update(density=0.01)):
            self.write("m.pw", good)
            with_header(self.folder / "m.pw", change)
            out, _ = self.call("verify", "m.pw", "data.npy", status=1)
            self.assertIn("NOT verified", out)
        self.write("m.pw", good)
        self.rows[0][0] += 0.01
        self.write("data.npy", npy_bytes(self.rows))
        out, err = self.call("verify", "m.pw", "data.npy", status=1)
        self.assertIn("not the bytes", err)

    def test_files_beside_the_data(self):
        self.write("w.npy", npy_bytes([1.0 + j % 2 for j in range(48)]))
        self.write("f.csv", "".join(f"{1 + i % 3}\n" for i in range(16)))
        self.write("e.npy", npy_bytes([[float((i + j) % 5 > 0) for i in range(16)] for j in range(48)]))
        ring = [[float(abs(i - j) in (1, 47)) for j in range(48)] for i in range(48)]
        self.write("a.mtx", mtx_text(ring))
        self.write("l.mtx", mtx_text([[2.0 * (i == j) - x for j, x in enumerate(row)] for i, row in enumerate(ring)]))
        self.write("p.csv", csv_text([[j % 3, j / 48] for j in range(48)]))
        for option, name in (("--weights", "w.npy"), ("--weights", "f.csv"), ("--weights", "e.npy"), ("--graph", "a.mtx"),
                             ("--graph", "l.mtx"), ("--graph-space", "p.csv")):
            with self.subTest(name):
                code, _, err = run(["fit", "data.npy", "-o", "m.pw", "--atoms", "5", option, name], self.folder)
                self.assertIn(code, (0, 1), err)
                if option == "--graph":
                    self.assertIn("adjacency" if name == "a.mtx" else "Laplacian", err)
                self.call("verify", "m.pw", "data.npy", option, name)
                self.call("verify", "m.pw", "data.npy", status=2)

    def test_encode_reconstruct_score(self):
        self.call("fit", "data.npy", "-o", "m.pw", "--atoms", "12", "--beta-ratio", "0.001", "--level", "none",
                  "--graph", "none", "--quiet", "--max-iter", "40", status=1)
        self.call("encode", "m.pw", "data.npy", "-o", "c.npy", "--scale-out", "s.npy")
        self.call("encode", "m.pw", "data.npy", "-o", "c.mtx")
        for codes in ("c.npy", "c.mtx"):
            self.call("reconstruct", "m.pw", codes, "-o", "r.npy", "--scale", "s.npy")
            back = struct.unpack("<768d", read_npy(self.folder / "r.npy"))
            flat = [x for row in self.rows for x in row]
            error = sum((a - b) ** 2 for a, b in zip(back, flat)) / sum(b * b for b in flat)
            self.assertLess(error, 0.05)
        self.rows[4][3] += 50
        self.write("bad.npy", npy_bytes(self.rows))
        self.call("fit", "data.npy", "-o", "e.pw", "--atoms", "4", *EASY, "--quiet")
        self.call("score", "e.pw", "bad.npy", "-o", "s.csv", "--confidence", "c.npy")
        scores = [float(x) for x in (self.folder / "s.csv").read_text().split()]
        self.assertEqual(len(scores), 48)
        confidence = struct.unpack("<768d", read_npy(self.folder / "c.npy"))
        self.assertTrue(all(0 <= c <= 1 for c in confidence))
        self.assertLess(confidence[4 * 16 + 3], 0.1)
        out, _ = self.call("score", "e.pw", "bad.npy")
        self.assertEqual(len(out.splitlines()), 49)
        self.call("encode", "e.pw", "data.npy", "-o", "c.npy", "--weights-out", "w.npy")
        self.assertEqual(len(read_npy(self.folder / "w.npy")), 8 * 768)


class Figures(Case):
    def test_json_of_fit(self):
        self.call("fit", "data.npy", "-o", "m.pw", "--atoms", "6", *EASY, "--labels", "labels.npy", "--json", "j.json", "--quiet")
        j = json.loads((self.folder / "j.json").read_text())
        for key in ("version", "options", "shape", "atoms", "termination", "iterations", "objective", "objective_parts",
                    "certificate", "lambda", "selected", "density", "seconds", "peak_memory_bytes", "history"):
            self.assertIn(key, j)
        self.assertEqual(j["shape"], [48, 16])
        self.assertEqual(j["atoms"], 6)
        self.assertIn(j["termination"], ENDED)
        parts = ("fit", "pace", "sparsity", "manifold", "consistency")
        for record in [j, *j["history"]]:
            self.assertEqual(sorted(record["objective_parts"]), sorted(parts))
            self.assertAlmostEqual(sum(record["objective_parts"].values()), record["objective"], places=6)
            self.assertEqual(sorted(record["certificate"]), ["codes", "consistency", "dictionary"])
        self.assertEqual([r["iteration"] for r in j["history"]], list(range(1, j["iterations"] + 1)))
        self.assertIsNone(j["history"][0]["lambda"])
        self.assertGreater(j["lambda"], 0)
        self.assertGreater(j["peak_memory_bytes"], 1e6)
        self.assertGreater(j["clustering"]["acc"], 0.9)

    def test_json_of_cluster(self):
        self.call("cluster", "data.npy", "--clusters", "3", "--labels", "labels.npy", "--runs", "5", "--json", "c.json", "-o", "a.npy")
        j = json.loads((self.folder / "c.json").read_text())
        self.assertEqual(j["runs"], 5)
        for key in ("acc", "purity", "nmi", "ari"):
            self.assertEqual(sorted(j[key]), ["max", "mean", "min", "sd"])
            self.assertLessEqual(j[key]["min"], j[key]["mean"])
        out, _ = self.call("evaluate", "labels.npy", "a.npy", "--json", "e.json")
        self.assertAlmostEqual(json.loads((self.folder / "e.json").read_text())["acc"], j["acc"]["max"], places=6)

    def test_status_1_where_the_tolerance_is_not_reached(self):
        _, err = self.call("fit", "data.npy", "-o", "m.pw", "--max-iter", "3", "--atoms", "4", status=1)
        self.assertIn("pacewise: warning: the tolerance was not reached: iteration_limit", err)
        self.call("info", "m.pw")
        self.write("big.npy", npy_bytes(planted(600, 40)[0]))
        _, err = self.call("fit", "big.npy", "-o", "m.pw", "--max-seconds", "0.05", "--tol", "0", "--polish", "100000",
                           "--max-iter", "100000", status=1)
        self.assertIn("time_limit", err)
        self.call("verify", "m.pw", "big.npy")

    def test_quiet_is_silent(self):
        out, err = self.call("fit", "data.npy", "-o", "m.pw", "--atoms", "5", *EASY, "--quiet")
        self.assertEqual((out, err), ("", ""))
        out, err = self.call("fit", "data.npy", "-o", "m.pw", "--max-iter", "2", "--atoms", "5", "--quiet", status=1)
        self.assertEqual((out, err), ("", ""))
        for arguments in (("encode", "m.pw", "data.npy", "-o", "c.npy"), ("verify", "m.pw", "data.npy"),
                          ("cluster", "m.pw", "--clusters", "2"), ("graph", "data.npy", "-o", "l.mtx")):
            self.assertEqual(self.call(*arguments, "--quiet"), ("", ""))

    def test_progress(self):
        _, plain = self.call("fit", "data.npy", "-o", "m.pw", "--atoms", "5", *EASY, "--progress", "plain")
        self.assertRegex(plain, r"iteration +1  plain +lambda inf  selected 100%  objective")
        _, none = self.call("fit", "data.npy", "-o", "m.pw", "--atoms", "5", *EASY, "--progress", "none")
        self.assertNotIn("iteration", none)

    def test_report_is_one_page(self):
        self.call("fit", "data.npy", "-o", "m.pw", "--atoms", "6", *EASY, "--report", "r.html", "--labels", "labels.npy", "--quiet")
        page = (self.folder / "r.html").read_text()
        self.assertTrue(page.startswith("<!DOCTYPE html>"))
        self.assertEqual(re.findall(r"""(?:src|href)\s*=\s*["'](?!data:)""", page), [])
        self.assertNotRegex(page, r"<script|http:|https:|@import|url\(")
        for part in ("<svg", "data:image/png;base64,", "prefers-color-scheme", "name=\"viewport\"", "Learned atoms"):
            self.assertIn(part, page)

    def test_demo_without_data(self):
        out, _ = self.call("demo", "--data", "nowhere", "--per-class", "4", "--atoms", "6", "-o", "d.html")
        self.assertIn("drawn shapes", out)
        for method in ("SC", "CSC", "SPSC-S", "SPSC-F", "SPSC-E"):
            self.assertRegex(out, rf"(?m)^{method} +0\.\d+")
        self.assertIn("report: d.html", out)
        self.assertIn("<svg", (self.folder / "d.html").read_text())

    def test_help_and_version(self):
        out, _ = self.call("--version")
        self.assertEqual(out, f"pacewise {(ROOT / 'VERSION').read_text().strip()}\n")
        out, _ = self.call("--help")
        for command in ("fit", "encode", "reconstruct", "score", "cluster", "graph", "evaluate", "verify", "info", "demo"):
            self.assertRegex(out, rf"(?m)^  {command} ")
            text, _ = self.call(command, "--help")
            self.assertIn("Example:\n  pacewise " + command, text)
        self.assertNotIn("generate", out)
        out, _ = self.call("fit", "--help")
        for option in ("labels atoms beta beta-ratio alpha gamma eta level regularizer pace mu select final polish preset graph k "
                       "graph-space edge-weight weights normalize precision threads seed max-iter tol max-seconds checkpoint every "
                       "resume codes weights-out json report quiet progress").split():
            self.assertRegex(out, rf"(?m)^  (-o,)?--{option}\b")


class Documents(Case):
    def test_man_page_and_completions_are_up_to_date(self):
        for what, name in (("man", "man/pacewise.1"), ("bash", "completions/pacewise.bash"),
                           ("zsh", "completions/_pacewise"), ("fish", "completions/pacewise.fish")):
            out, _ = self.call("generate", what)
            self.assertEqual(out, (ROOT / name).read_text(), f"run: pacewise generate {what} > {name}")

    def test_bash_completion_completes(self):
        script = ("source completions/pacewise.bash; COMP_WORDS=(pacewise fit --level el); COMP_CWORD=3; _pacewise;"
                  "echo ${COMPREPLY[@]}; COMP_WORDS=(pacewise fit --check); COMP_CWORD=2; _pacewise; echo ${COMPREPLY[@]};"
                  "COMP_WORDS=(pacewise rec); COMP_CWORD=1; _pacewise; echo ${COMPREPLY[@]}")
        out = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        self.assertEqual(out.split(), ["element", "--checkpoint", "reconstruct"])

    def blocks(self, language):
        return re.findall(rf"```{language}\n(.*?)```", (ROOT / "docs/cli.md").read_text(), re.DOTALL)

    def test_commands_of_the_document_run(self):
        commands = [line for block in self.blocks("sh") for line in block.splitlines()]
        self.assertGreater(len(commands), 12)
        environment = dict(os.environ, PATH=f"{self.folder}:{os.environ['PATH']}", OMP_WAIT_POLICY="passive")
        os.symlink(os.path.realpath(BINARY), self.folder / "pacewise")
        for command in commands:
            done = subprocess.run(["sh", "-c", command], cwd=self.folder, env=environment, capture_output=True, text=True)
            accepted = (0, 1) if command.startswith("pacewise fit") else (0,)
            self.assertIn(done.returncode, accepted, f"{command}\n{done.stderr}")
        header, array = read_container(self.folder / "model.pw")
        atoms, features = header["arrays"]["dictionary"]["shape"]
        numbers = struct.unpack(f"<{atoms * features}d", array("dictionary"))
        for k in range(atoms):
            self.assertLessEqual(sum(x * x for x in numbers[k * features:(k + 1) * features]), 1 + 1e-9)
        self.assertEqual(len(array("codes_start")), 8 * 49)
        self.check_python_lines()

    def check_python_lines(self):
        lines, = self.blocks("python")
        self.assertLessEqual(len(lines.strip().splitlines()), 16)
        try:
            import numpy  # noqa: F401
        except ImportError:
            return  # the standard library alone has read the same file above
        done = subprocess.run([sys.executable, "-c", lines, "model.pw"], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("(16, 16)", done.stdout)


if __name__ == "__main__":
    unittest.main()
