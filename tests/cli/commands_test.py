"""The commands on good input: round trips, schema, silence, documents."""
import fcntl
import os
import pty
import re
import resource
import struct
import termios
import unittest
import unittest.mock
import zlib

from harness import (Case, ROOT, csv_text, gzip, hdf5_bytes, idx_bytes, json, mat5_bytes, mat73_bytes, mtx_text, npy_bytes,
                     npz_bytes, pgm_bytes, planted, png_bytes, read_container, read_npy, run, start, with_header)

EASY = ("--tol", "1e-3", "--polish", "100")  # what reaches its tolerance soon
ENDED = {"converged", "iteration_limit", "time_limit", "cancelled", "numerical_trouble"}


class RoundTrips(Case):
    def fit_and_verify(self, data, *options):
        most = () if "--max-iter" in options else ("--max-iter", "60")
        code, out, err = run(["fit", data, "-o", "m.pw", "--atoms", "6", *most, *options], self.folder)
        self.assertIn(code, (0, 1), err)
        out, _ = self.call("verify", "m.pw", data)
        self.assertIn("verified: every figure agrees", out)
        self.assertNotIn("NO", out.split("verified")[0])

    def write_every_format(self):
        """Names to be given to the program, one for every format it reads."""
        grey = [[min(255, max(0, int(100 + 40 * x))) for x in row] for row in self.rows]
        column = [[float(x)] for x in self.labels]
        text = csv_text(self.rows)
        self.write("data.npz", npz_bytes(X=npy_bytes(self.rows), y=npy_bytes(self.labels, "<i4")))
        self.write("single.npy", npy_bytes(self.rows, "<f4"))
        self.write("data.npy.gz", gzip.compress(npy_bytes(self.rows)))
        self.write("data.csv", text)
        self.write("named.tsv", "\t".join(f"f{i}" for i in range(16)) + "\n" + text.replace(",", "\t"))
        self.write("data.csv.gz", gzip.compress(text.encode()))
        self.write("v5.mat", mat5_bytes(X=self.rows, Y=column))
        self.write("packed.mat", mat5_bytes(compress=True, fea=self.rows, gnd=column))
        self.write("v73.mat", mat73_bytes(X=self.rows, Y=column))
        self.write("data.h5", hdf5_bytes(first=self.rows, labels=column))
        self.write("data.mtx", mtx_text(self.rows))
        self.write("data-idx3-ubyte", idx_bytes(grey, 4))
        self.write("data.idx.gz", gzip.compress(idx_bytes(grey, 4)))
        for j, sample in enumerate(grey):
            folder = self.folder / "pictures" / f"class{self.labels[j]}"
            folder.mkdir(parents=True, exist_ok=True)
            pixels = [sample[4 * i:4 * i + 4] for i in range(4)]
            (folder / (f"{j}.png" if j % 2 else f"{j}.pgm")).write_bytes(png_bytes(pixels) if j % 2 else pgm_bytes(pixels))
        return ("data.npy", "single.npy", "data.npy.gz", "data.npz", "data.npz:X", "data.csv", "named.tsv", "data.csv.gz", "v5.mat",
                "packed.mat", "v73.mat", "data.h5:/first", "data.mtx", "data-idx3-ubyte", "data.idx.gz", "pictures")

    def test_every_format(self):
        for name in self.write_every_format():
            with self.subTest(name):
                self.fit_and_verify(name)
                if name != "pictures":  # any other format is known by its content
                    file, _, variable = name.partition(":")
                    self.write("nameless", (self.folder / file).read_bytes())
                    name = "nameless:" + variable if variable else "nameless"
                out, _ = self.call("info", name, "--json")
                self.assertEqual((json.loads(out)["samples"], json.loads(out)["features"]), (48, 16))

    def test_sparse_data_stay_sparse(self):
        """A million by a million numbers, of which three are stored: looked at, but not turned into 8 TB."""
        self.write("huge.mtx", "%%MatrixMarket matrix coordinate real general\n1000000 1000000 3\n1 1 2.5\n7 8 -1\n9 9 4\n")
        out, _ = self.call("info", "huge.mtx")
        self.assertRegex(out, r"format +mtx, sparse\n.*1000000 x 1000000\nrange +-1 \.\. 4\n")
        _, err = self.call("fit", "huge.mtx", "-o", "m.pw", status=3)
        self.assertRegex(err, r"1000000 samples of 1000000 features take 7\.3 TiB as a dense matrix, .* are free")

    def test_info_of_data(self):
        self.write("holes.csv", "a,b,label\n1,,x\n0,-3,y\n0,2.5,x\n")
        out, _ = self.call("info", "holes.csv", "--label-column", "label", "--json")
        self.assertEqual(json.loads(out), {"format": "csv", "samples": 3, "features": 2, "sparse": False, "mapped": False,
                                           "missing": 1, "zeros": 2, "least": -3, "most": 2.5, "classes": 2})

    def test_every_level_and_pace(self):
        for options in (("--level", "none"), ("--level", "sample", "--polish", "0"), ("--level", "feature", "--polish", "0"),
                        ("--level", "element", "--polish", "0", "--final", "0.9"), ("--preset", "paper"),
                        ("--precision", "single"), ("--precision", "single", "--polish", "0", "--level", "sample"),
                        ("--normalize", "standard"), ("--graph", "none"), ("--regularizer", "welsch"),
                        ("--regularizer", "polynomial", "--power", "2.5"), ("--max-iter", "13"), ("--max-iter", "2")):
            with self.subTest(options):
                self.fit_and_verify("data.npy", *options)

    def test_verify_finds_a_lie(self):
        self.call("fit", "data.npy", "-o", "m.pw", "--atoms", "6", *EASY, "--quiet")
        good = (self.folder / "m.pw").read_bytes()

        def more(part, factor):
            def change(h):
                added = h["objective_parts"][part] * (factor - 1)
                h["objective_parts"][part] += added
                h["objective"] += added
            return change

        for change in (more("fit", 1.001), more("sparsity", 0.999), more("manifold", 1.01), more("consistency", 1.01),
                       lambda h: h["certificate"].update(codes=0.5), lambda h: h["certificate"].update(dictionary=0),
                       lambda h: h.update(selected=0.2), lambda h: h.update(density=0.01)):
            self.write("m.pw", good)
            with_header(self.folder / "m.pw", change)
            out, _ = self.call("verify", "m.pw", "data.npy", status=1)
            self.assertIn("NOT verified", out)
        # whatever a later command uses or prints, of the default pace
        for more in ((), ("--kind", "images")):
            self.call("fit", "data.npy", "-o", "d.pw", "--atoms", "6", "--quiet", *more)
            good_d = (self.folder / "d.pw").read_bytes()
            for name, change in {
                "lambda": lambda h: h.update({"lambda": 2 * (h["lambda"] or 3)}), "scale of an entry": lambda h: h.update(entry_lambda=2 * (h["entry_lambda"] or 3)),
                "end of usual": lambda h: h.update(outlier_threshold=2 * (h["outlier_threshold"] or 3)), "reach": lambda h: h.update(reach=2 * (h["reach"] or 3)),
                "certificate: weights": lambda h: h["certificate"].update(weights=0.9), "iterations": lambda h: h["state"]["history"].pop(),
                "iterations in": lambda h: h["state"]["history"][-1].update(selected=2), "ended": lambda h: h.update(termination="time_limit"),
            }.items():
                self.write("d.pw", good_d)
                with_header(self.folder / "d.pw", change)
                self.assertRegex(self.call("verify", "d.pw", "data.npy", status=1)[0], rf"(?m)^{name}.* NO$")
            self.write("d.pw", good_d)
            self.call("verify", "d.pw", "data.npy")
            with_header(self.folder / "d.pw", lambda h: h.update(objective=h["objective"] + 1))
            self.assertIn("its objective is not the sum of its parts", self.call("verify", "d.pw", "data.npy", status=3)[1])
        self.write("m.pw", good)
        self.rows[0][0] += 0.01
        self.write("data.npy", npy_bytes(self.rows))
        out, err = self.call("verify", "m.pw", "data.npy", status=1)
        self.assertIn("not the bytes", err)

    def test_every_stored_number_is_checked(self):
        """Each number and word of the header, and some of every array, changed under a right checksum."""
        unseen = re.compile("|".join((  # no command uses them of a finished model, or they are as true as before
            r"^objective$", r"sources/data_checksum", r"random$", r"descent/(cap|offsets)$", r"dead_atoms$", r"stages/\d+/gain_squares", r"history/[03]/objective_before",
            r"history/\d+/certificate/(codes|dictionary|consistency)",
            r"options/(heat_width|hidden|max_iter|missing|mu|normalized_laplacian|polish|seed|tol|warm_iter)$")))
        # a word that may stand there, too
        words = {"termination": sorted(ENDED), "phase": ["plain", "warm", "paced", "held", "polish"], "kind": ["images", "table", "spectra"]}

        def places(value, path=()):
            if isinstance(value, (dict, list)):
                of = list(value.items() if isinstance(value, dict) else enumerate(value))
                if path[-1:] in (("history",), ("stages",)):
                    of = [of[k] for k in (0, 3, -1)] if len(of) > 3 else of
                for key, inner in of:
                    if path or key not in ("arrays", "version", "kind"):
                        yield from places(inner, (*path, key))
            else:
                yield path, value

        def other(key, value):
            if key in words:
                return next(word for word in words[key] if word != value)
            if isinstance(value, (bool, str)):
                return not value if isinstance(value, bool) else value + "x"
            return 0.5 if value is None else value + 1 if isinstance(value, int) else 1.3 * value or 0.001

        # another pace has no use for what is of a descending one, and its lambdas are not recomputed
        other_pace = re.compile(r"descent/(draws|chosen|lambda|center)$|options/(lambda_scale|stage_iter|pace_iter|select)$")
        for more in ((), ("--kind", "images", "--level", "sample", "--pace", "quantile")):
            self.call("fit", "data.npy", "-o", "m.pw", "--atoms", "6", "--quiet", *more)
            good = (self.folder / "m.pw").read_bytes()
            header = read_container(self.folder / "m.pw")[0]
            at = 32 + struct.unpack_from("<Q", good, 16)[0]
            wrong = []

            def verify(name, changed, header_change=None):
                self.write("x.pw", changed)
                if header_change is not None:
                    with_header(self.folder / "x.pw", header_change)
                status = run(["verify", "x.pw", "data.npy"], self.folder)[0]
                self.assertIn(status, (0, 1, 2, 3), name)  # 2: a file is missing now
                if status == 0 and not unseen.search(name) and not (more and other_pace.search(name)):
                    wrong.append(name)

            for path, value in places(header):
                def change(h):
                    inner = h
                    for key in path[:-1]:
                        inner = inner[key]
                    inner[path[-1]] = other(path[-1], value)
                    h["objective"] = sum(h["objective_parts"].values())

                verify("/".join(map(str, path)), good, change)
            for name, array in header["arrays"].items():
                size = int(array["dtype"][2])
                for place in (0, len(read_container(self.folder / "m.pw")[1](name)) // size // 2):
                    data, code = bytearray(good), {"f8": "<d", "i4": "<i", "i8": "<q"}[array["dtype"][1:]]
                    where = at + array["offset"] + place * size
                    value = struct.unpack_from(code, data, where)[0]
                    struct.pack_into(code, data, where, other(None, value))
                    data[12:16] = struct.pack("<I", zlib.crc32(data[8:12] + data[16:]))
                    verify(f"array {name} {place}", bytes(data))
            self.assertEqual(wrong, [])

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

    def numbers(self, name):
        data = read_npy(self.folder / name)
        return struct.unpack(f"<{len(data) // 8}d", data)

    def test_encode_reconstruct_score(self):
        self.call("fit", "data.npy", "-o", "m.pw", "--atoms", "12", "--beta-ratio", "0.001", "--level", "none",
                  "--graph", "none", "--quiet", "--max-iter", "40", status=1)
        self.call("encode", "m.pw", "data.npy", "-o", "c.npy", "--scale-out", "s.npy")
        self.call("encode", "m.pw", "data.npy", "-o", "c.mtx")
        flat = [x for row in self.rows for x in row]
        for codes in ("c.npy", "c.mtx"):
            self.call("reconstruct", "m.pw", codes, "-o", "r.npy", "--scale", "s.npy")
            self.assertLess(sum((a - b) ** 2 for a, b in zip(self.numbers("r.npy"), flat)), 0.05 * sum(b * b for b in flat))
        self.rows[4][3] += 50
        self.write("bad.npy", npy_bytes(self.rows))
        self.call("fit", "data.npy", "-o", "e.pw", "--atoms", "4", *EASY, "--quiet")
        self.call("score", "e.pw", "bad.npy", "-o", "s.csv", "--confidence", "c.npy", "--folds", "0")
        self.assertEqual(len((self.folder / "s.csv").read_text().split()), 48)
        seen, at = self.numbers("c.npy"), 4 * 16 + 3
        # not trusted, and none less; entries of the training data that it does not trust either are few
        self.assertTrue(all(0 <= c <= 1 for c in seen) and seen[at] == min(seen) < 0.5 and seen.count(0) < 10)
        self.call("score", "e.pw", "bad.npy", "--confidence", "auto.npy")  # few features: fifteen folds by themselves
        self.call("score", "e.pw", "bad.npy", "--confidence", "fifteen.npy", "--folds", "15")
        self.assertEqual(len(self.call("score", "e.pw", "bad.npy")[0].splitlines()), 49)
        self.assertTrue(self.numbers("auto.npy") == self.numbers("fifteen.npy") != seen and self.numbers("fifteen.npy")[at] < 0.01)
        self.call("encode", "e.pw", "data.npy", "-o", "c.npy", "--weights-out", "w.npy")
        self.assertEqual(len(self.numbers("w.npy")), 768)

    def test_mend(self):
        """What is wrong and what is missing comes near the truth, what is trusted stays."""
        clean = [list(row) for row in self.rows]
        self.rows[4][3] += 50
        self.rows[7][2] = float("nan")
        self.write("bad.npy", npy_bytes(self.rows))
        self.call("fit", "data.npy", "-o", "e.pw", "--atoms", "4", *EASY, "--quiet")
        self.call("mend", "e.pw", "bad.npy", "-o", "mended.npy")
        self.call("mend", "e.pw", "bad.npy", "-o", "plain.npy", "--plain")
        mended, plain = self.numbers("mended.npy"), self.numbers("plain.npy")
        for j, i in ((4, 3), (7, 2)):
            self.assertLess(abs(mended[16 * j + i] - clean[j][i]), 5)
        self.assertAlmostEqual(plain[4 * 16 + 3], self.rows[4][3])
        self.assertAlmostEqual(plain[7 * 16 + 3], clean[7][3])
        self.call("mend", "e.pw", "bad.npy", status=2)

    def test_matching_pursuit(self):
        """The pursuit itself is tested in C++."""
        self.call("fit", "data.npy", "-o", "m.pw", "--atoms", "6", *EASY, "--normalize", "none", "--quiet")
        for words in (("--nonzeros", 3), ("--error", 1e9)):
            self.call("encode", "m.pw", "data.npy", "-o", "c.npy", *words)
            codes = self.numbers("c.npy")
            most = max(sum(c != 0 for c in codes[6 * j:6 * j + 6]) for j in range(48))
            self.assertEqual(most, 3 if words[0] == "--nonzeros" else 0)

    def test_penalties_and_a_start(self):
        self.write("p.csv", "1\n2\n1\n3\n0.5\n1\n")
        self.write("d.npy", npy_bytes([[abs(x) for x in row] for row in self.rows[:6]]))
        self.write("s.npy", npy_bytes([[float(k == j % 6) for k in range(6)] for j in range(48)]))
        self.fit_and_verify("data.npy", "--positive-codes", "--positive-atoms", "--l2", "0.1", "--atom-penalty", "p.csv",
                            "--dictionary", "d.npy", "--start-codes", "s.npy", "--codes", "c.npy")
        codes = self.numbers("c.npy")
        self.assertGreaterEqual(min(codes), 0)
        self.assertGreater(max(codes), 0)


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
            self.assertEqual(sorted(record["certificate"]), ["codes", "consistency", "dictionary", "weights"])
        for figure in (*j["certificate"].values(), *j["history"][-1]["certificate"].values()):
            self.assertLess(abs(figure), 1)
        cheap = [r["certificate"]["codes"] is None for r in j["history"]]  # not computed there
        self.assertIn(True, cheap)
        self.assertIn(False, cheap)
        self.assertEqual([r["iteration"] for r in j["history"]], list(range(1, j["iterations"] + 1)))
        self.assertIsNone(j["history"][0]["lambda"])
        stages = j["stages"]
        self.assertEqual(len(stages), 14)
        self.assertIsNone(stages[0]["lambda"])
        self.assertEqual(j["lambda"], stages[j["stage"]]["lambda"])
        kept = stages[0]
        for s in stages:  # a later one must gain on all in, and on the one kept so far
            if s["gain"] > max(2 * s["gain_error"], 0.02 * stages[0]["error"]) and s["gain"] - s["gain_error"] > kept["gain"]:
                kept = s
        self.assertEqual(stages[j["stage"]], kept)
        self.assertRegex(" ".join(j["notes"]), r"of the entries are not trusted")
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

    def test_quiet_is_silent_but_for_the_reason_of_the_status(self):
        out, err = self.call("fit", "data.npy", "-o", "m.pw", "--atoms", "5", *EASY, "--quiet")
        self.assertEqual((out, err), ("", ""))
        out, err = self.call("fit", "data.npy", "-o", "m.pw", "--max-iter", "2", "--atoms", "5", "--quiet", status=1)
        self.assertEqual((out, err), ("", "pacewise: warning: the tolerance was not reached: iteration_limit\n"))
        for arguments in (("encode", "m.pw", "data.npy", "-o", "c.npy"), ("verify", "m.pw", "data.npy"),
                          ("cluster", "m.pw", "--clusters", "2"), ("graph", "data.npy", "-o", "l.mtx")):
            self.assertEqual(self.call(*arguments, "--quiet"), ("", ""))

    def test_progress(self):
        _, plain = self.call("fit", "data.npy", "-o", "m.pw", "--atoms", "5", *EASY, "--progress", "plain")
        self.assertRegex(plain, r"iteration +1  plain +lambda inf  selected 100%  objective \S+  certificate -  \d:\d\d")
        self.assertRegex(plain, r"polish lambda inf  selected +\d+%  objective \S+  certificate \d\.\de-\d\d  \d:\d\d")
        _, none = self.call("fit", "data.npy", "-o", "m.pw", "--atoms", "5", *EASY, "--progress", "none")
        self.assertNotIn("iteration", none)

    def on_a_terminal(self, columns, *arguments):
        """What the program writes to stderr where that is a terminal."""
        ours, its = pty.openpty()
        fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
        process = start(arguments, self.folder, stderr=its)
        os.close(its)
        shown = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the program has ended
                break
            if not piece:
                break
            shown += piece
        process.communicate(timeout=60)
        os.close(ours)
        self.assertIn(process.returncode, (0, 1))
        return shown.decode()

    def test_live_line(self):
        fit = ("fit", "data.npy", "-o", "m.pw", "--atoms", "5", *EASY, "--threads", "1")
        number = r"[-+.e\d]+"
        certificate = r"(-|\d(\.\d)?e[-+]\d\d)"  # a dash where the iteration took a cheap step
        for columns, shape in ((140, rf"\[#*\.*\] \d+/\d+ \w+ +lambda (inf|{number})  selected +\d+%  objective {number}  "
                                     rf"certificate {certificate}  \d:\d\d  \d:\d\d left"),
                               (80, rf"\[#*\.*\] \d+/\d+ lambda (inf|{number})  in \d+%  obj {number}  cert {certificate}  \d:\d\d left")):
            with self.subTest(columns):
                shown = self.on_a_terminal(columns, *fit)
                lines = shown.split("\r\033[K")
                self.assertTrue(any(re.match(r"\[#+\.*\] 100% reading data\.npy", line) for line in lines), shown)
                self.assertTrue(any(re.match(r"\[#+\.*\] 100% neighbours of the hypergraph", line) for line in lines), shown)
                self.assertGreater(sum(re.fullmatch(shape, line) is not None for line in lines), 5, shown)
                self.assertLess(max(len(line) for line in lines if line.startswith("[")), columns)
        self.assertEqual(self.on_a_terminal(80, *fit, "--quiet"), "")
        self.assertIn("neighbours of 48 samples", self.on_a_terminal(80, "graph", "data.npy", "-o", "l.mtx", "--threads", "1"))

    def processor_seconds(self, threads):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.call("fit", "wide.npy", "-o", "m.pw", "--atoms", "16", "--max-iter", "60", "--threads", threads, "--quiet", status=1)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def test_threads_wait_without_spinning(self):
        """Eight threads take hardly more of the processor than one, even if OpenMP's are told to spin."""
        self.write("wide.npy", npy_bytes(planted(60, 2000)[0]))
        with unittest.mock.patch.dict(os.environ, OMP_WAIT_POLICY="active"):
            self.assertLess(self.processor_seconds(8), 2 * self.processor_seconds(1))

    def test_labels_in_the_data_file(self):
        for name, content in (("l.mat", mat5_bytes(X=self.rows, Y=[[float(x)] for x in self.labels])),
                              ("l.npz", npz_bytes(X=npy_bytes(self.rows), y=npy_bytes(self.labels, "<i4")))):
            self.write(name, content)
            out, err = self.call("fit", name, "-o", "m.pw", "--atoms", "6", *EASY)
            self.assertIn("holds labels of 3 classes", err)
            self.assertRegex(out, r"clusters +ACC 0\.9|clusters +ACC 1\.0")

    def test_report_is_one_page(self):
        self.call("fit", "data.npy", "-o", "m.pw", "--atoms", "6", *EASY, "--report", "r.html", "--labels", "labels.npy", "--quiet")
        page = (self.folder / "r.html").read_text()
        self.assertTrue(page.startswith("<!DOCTYPE html>"))
        self.assertEqual(re.findall(r"""(?:src|href)\s*=\s*["'](?!data:)""", page), [])
        self.assertNotRegex(page, r"<script[^>]|http:|https:|@import|url\(")
        for part in ("<svg", "<h2>Doubted cells</h2>", "prefers-color-scheme", "name=\"viewport\"", "Learned atoms"):
            self.assertIn(part, page)

    def test_help_and_version(self):
        """That the help of fit has every option of the table is in documents_test.py."""
        self.assertEqual(self.call("--version")[0], f"pacewise {(ROOT / 'VERSION').read_text().strip()}\n")
        out, _ = self.call("--help")
        for command in ("fit", "impute", "clean", "encode", "mend", "reconstruct", "score", "cluster", "graph", "evaluate", "verify", "info", "demo"):
            self.assertRegex(out, rf"(?m)^  {command} ")
            self.assertIn("Example:\n  pacewise " + command, self.call(command, "--help")[0])
        self.assertNotIn("generate", out)
        out, _ = self.call("fit", "--help")
        for option in "labels preset weights precision threads max-seconds checkpoint every resume codes weights-out json report quiet progress".split():
            self.assertRegex(out, rf"(?m)^  (-o,)?--{option}\b")


if __name__ == "__main__":
    unittest.main()
