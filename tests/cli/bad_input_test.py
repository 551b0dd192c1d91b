"""Every kind of bad input: its exit status, and one line on stderr that says what is wrong."""
import os
import resource
import struct
import unittest
import zlib

from harness import Case, csv_text, gzip, mtx_text, npy_bytes, planted, start, with_header

FIT = ("fit", "{data}", "-o", "out.pw", "--atoms", "4", "--max-iter", "3")
NAN, INF = float("nan"), float("inf")
ROWS, LABELS = planted()
SMALL = [row[:4] for row in ROWS[:6]]
GRAPH = [[0.0 if i == j else 1.0 for j in range(48)] for i in range(48)]


def graph_with(change):
    rows = [list(row) for row in GRAPH]
    change(rows)
    return mtx_text(rows)


# Every kind of damage is in files/bad_input_test.cpp, every value out of range in options_test.cpp: here is one of
# each kind, and what the program adds. Name of the data file, its content, status, pattern of the message
DATA = [
    ("empty.npy", b"", 3, r"empty"),
    ("truncated.npy", npy_bytes(ROWS)[:-100], 3, r"truncated\.npy"),
    ("ragged.csv", "1,2,3\n4,5\n6,7,8\n", 3, r"ragged\.csv.*(line|row) 2"),
    ("words.csv", "1,2\n3,4\nfive,6\n7,8\n", 3, r"words\.csv.*five"),
    ("only_header.csv", "a,b,c\n", 3, r"only_header.*no other line: write the numbers below"),
    ("infinite.csv", "1,2\n3,inf\n5,6\n", 3, r"inf"),
    ("infinite.npy", npy_bytes([[1.0, 2.0], [INF, 3.0]]), 3, r"inf"),
    ("all_nan.npy", npy_bytes([[NAN, NAN], [NAN, NAN]]), 3, r"observed|NaN|missing"),
    ("a.pdf", b"%PDF-1.7 something", 3, r"PDF"),
    ("noise.bin", bytes(range(1, 256)), 3, r"noise\.bin.*format"),
    ("cut.npz", b"PK\x03\x04\x14\x00", 3, r"cut\.npz"),
    ("cut.csv.gz", gzip.compress(csv_text(ROWS).encode())[:-20], 3, r"cut\.csv\.gz"),
]

# name, extra files, arguments, status, pattern
CALLS = [
    ("missing file", {}, ("fit", "nothing.npy", "-o", "out.pw"), 3, r"nothing\.npy"),
    ("folder without images", {}, ("fit", ".", "-o", "out.pw"), 3, r"image"),
    ("no command", {}, (), 2, r"no command"),
    ("misspelt command", {}, ("fti", "data.npy"), 2, r"did you mean fit\?"),
    ("misspelt option", {}, (*FIT, "--regulariser", "hard"), 2, r"did you mean --regularizer\?"),
    ("swapped letters", {}, (*FIT, "--laebls", "x"), 2, r"did you mean --labels\?"),
    ("no output", {}, ("fit", "data.npy"), 2, r"output"),
    ("output is the data", {}, ("fit", "data.npy", "-o", "data.npy"), 2, r"--output = data\.npy is the file of DATA"),
    ("output is the data, spelled otherwise", {}, ("fit", "data.npy", "-o", "out.pw", "--report", "./data.npy"), 2, r"is the file of DATA"),
    ("twice", {}, (*FIT, "--alpha", "1", "--alpha", "2"), 2, r"alpha"),
    ("atoms 0", {}, ("fit", "data.npy", "-o", "out.pw", "--atoms", "0"), 2, r"atoms = 0"),
    ("atoms beyond memory", {}, ("fit", "data.npy", "-o", "out.pw", "--atoms", "100000000000"), 3,
     r"48 samples x 16 features with 100000000000 atoms need at least .* TiB, .* are free"),
    ("beta and beta-ratio", {}, (*FIT, "--beta", "1", "--beta-ratio", "0.1"), 2, r"--beta"),
    ("power of another", {}, (*FIT, "--power", "3"), 2, r"power = 3.*polynomial"),
    ("coordinates in HDF5 that is not there", {},
     ("graph", "data.npy", "-o", "l.mtx", "--graph-space", "coords.h5:/points"), 3, r"coords\.h5"),
    ("penalty of other atoms", {"p.csv": "1\n2\n"}, (*FIT, "--atom-penalty", "p.csv"), 3, r"atom_penalty = 2 numbers: must be one for each of the 4 atoms"),
    ("start atoms not finite", {"d.csv": "1,nan\n"}, (*FIT, "--dictionary", "d.csv"), 3, r"d\.csv: nan in row 0, column 1"),
    ("max-seconds 0", {}, (*FIT, "--max-seconds", "0"), 2, r"max-seconds"),
    ("threads negative", {}, (*FIT, "--threads", "-1"), 2, r"threads"),
    ("seed of cluster negative", {}, ("cluster", "data.npy", "--clusters", "2", "--seed", "-1"), 2, r"seed.* -1: must be >= 0"),
    ("codes ending", {}, (*FIT, "--codes", "codes.xyz"), 2, r"--codes = codes\.xyz"),
    ("weights-out at level none", {}, (*FIT, "--level", "none", "--weights-out", "w.npy"), 2, r"--weights-out"),
    ("output in no folder", {}, ("fit", "data.npy", "-o", "none/out.pw"), 4, r"none/out\.pw"),
    ("full disk", {}, ("fit", "data.npy", "-o", "/dev/full", "--atoms", "4", "--quiet"), 4, r"/dev/full"),
    ("labels of another n", {"l.csv": "1\n2\n3\n"}, (*FIT, "--labels", "l.csv"), 3, r"3 labels for 48"),
    ("label column missing", {"d.csv": "a,b\n1,2\n3,4\n"},
     ("fit", "d.csv", "-o", "out.pw", "--label-column", "class"), 3, r"class"),
    ("variable of a npy", {}, (*FIT, "--variable", "X"), 3, r"variable"),
    ("weights of another size", {"w.csv": "1\n2\n3\n"}, (*FIT, "--weights", "w.csv"), 3, r"w\.csv.*48.*16"),
    ("weights negative", {"w.csv": "-1\n" * 48}, (*FIT, "--weights", "w.csv"), 3, r"w\.csv: weights\.sample: -1 at sample 0"),
    ("weights all 0", {"w.csv": "0\n" * 48}, (*FIT, "--weights", "w.csv"), 3, r"observed|weight"),
    ("graph of another n", {"g.mtx": mtx_text([[0, 1], [1, 0]])}, (*FIT, "--graph", "g.mtx"), 3, r"g\.mtx.*48"),
    ("graph not symmetric", {"g.mtx": graph_with(lambda g: g[0].__setitem__(1, 5.0))},
     (*FIT, "--graph", "g.mtx"), 3, r"g\.mtx.*symmetric"),
    ("graph of both signs", {"g.mtx": graph_with(lambda g: (g[0].__setitem__(1, -1.0), g[1].__setitem__(0, -1.0)))},
     (*FIT, "--graph", "g.mtx"), 3, r"both signs"),
    ("Laplacian indefinite", {"g.mtx": mtx_text([[-x for x in row] for row in GRAPH])},
     (*FIT, "--graph", "g.mtx"), 3, r"g\.mtx: .*(definite|diagonal)"),
    ("graph file missing", {}, (*FIT, "--graph", "hypergraf"), 3, r"hypergraf"),
    ("graph file and gamma", {"g.mtx": mtx_text(GRAPH)}, (*FIT, "--graph", "g.mtx", "--gamma", "1"), 2, r"--gamma"),
    ("coordinates infinite", {"p.csv": "1,inf\n" * 48}, (*FIT, "--graph-space", "p.csv"), 3, r"p\.csv: .*inf"),
    ("score infinite", {"s.npy": npy_bytes([[INF] * 16])}, ("score", "model.pw", "s.npy"), 3, r"s\.npy: .*inf"),
    ("resume from nothing", {}, (*FIT[:4], "--resume", "c.pw"), 3, r"c\.pw"),
    ("resume with other options", {}, (*FIT[:4], "--resume", "model.pw", "--alpha", "1"), 2, r"--alpha.*--resume"),
    ("resume with other data", {"other.npy": npy_bytes(planted(seed=2)[0])},
     ("fit", "other.npy", "-o", "out.pw", "--resume", "model.pw"), 3, r"other data"),
    ("encode other features", {"s.npy": npy_bytes(SMALL)},
     ("encode", "model.pw", "s.npy", "-o", "c.npy"), 3, r"4 features, the model 16"),
    ("encode ending", {}, ("encode", "model.pw", "data.npy", "-o", "c.txt"), 2, r"c\.txt"),
    ("nonzeros 0", {}, ("encode", "model.pw", "data.npy", "-o", "c.npy", "--nonzeros", "0"), 2, r"nonzeros"),
    ("nonzeros and weights", {}, ("encode", "model.pw", "data.npy", "-o", "c.npy", "--nonzeros", "2", "--weights-out", "w.npy"), 2,
     r"--weights-out: matching pursuit"),
    ("encode infinite", {"s.npy": npy_bytes([[INF] * 16])}, ("encode", "model.pw", "s.npy", "-o", "c.npy"), 3,
     r"s\.npy: values: inf at sample 0, feature 0"),
    ("folds 1", {}, ("score", "model.pw", "data.npy", "--folds", "1"), 3, r"folds = 1: must be 0 or an integer >= 2"),
    ("mend into nowhere", {}, ("mend", "model.pw", "data.npy", "-o", "none/m.npy"), 4, r"none/m\.npy"),
    ("score without a model", {}, ("score", "data.npy", "data.npy"), 3, r"not a Pacewise model"),
    ("score into nowhere", {}, ("score", "model.pw", "data.npy", "-o", "none/s.csv"), 4, r"none/s\.csv"),
    ("reconstruct other atoms", {}, ("reconstruct", "model.pw", "data.npy", "-o", "r.npy"), 3, r"16 columns.* 4 atoms"),
    ("reconstruct NaN", {"c.npy": npy_bytes([[NAN] * 4])}, ("reconstruct", "model.pw", "c.npy", "-o", "r.npy"), 3, r"finite"),
    ("reconstruct scale", {"c.npy": npy_bytes([[1.0] * 4]), "s.csv": "1\n2\n"},
     ("reconstruct", "model.pw", "c.npy", "-o", "r.npy", "--scale", "s.csv"), 3, r"2 numbers for 1"),
    ("verify other shape", {"s.npy": npy_bytes(SMALL)}, ("verify", "model.pw", "s.npy"), 3, r"6 x 4.*48 x 16"),
    ("verify with weights", {"w.csv": "1\n" * 48}, ("verify", "model.pw", "data.npy", "--weights", "w.csv"), 2, r"without"),
    ("clusters 0", {}, ("cluster", "data.npy", "--clusters", "0"), 2, r"clusters = 0"),
    ("clusters above n", {}, ("cluster", "data.npy", "--clusters", "49"), 3, r"data\.npy: .*49"),
    ("clusters missing", {}, ("cluster", "data.npy"), 2, r"clusters"),
    ("init", {}, ("cluster", "data.npy", "--clusters", "3", "--init", "best"), 2, r"init = best"),
    ("cluster NaN", {"s.npy": npy_bytes([[NAN, 1.0], [2.0, 3.0]])}, ("cluster", "s.npy", "--clusters", "1"), 3,
     r"s\.npy: .*(NaN|nan|finite)"),
    ("k >= n", {"s.npy": npy_bytes(SMALL)}, ("graph", "s.npy", "-o", "l.mtx", "--k", "6"), 3, r"k = 6"),
    ("graph ending", {}, ("graph", "data.npy", "-o", "l.npy"), 2, r"\.mtx"),
    ("incidence of knn", {}, ("graph", "data.npy", "-o", "l.mtx", "--graph", "knn", "--incidence", "h.mtx"), 2, r"incidence"),
    ("evaluate lengths", {"a.csv": "1\n2\n"}, ("evaluate", "labels.npy", "a.csv"), 3, r"2 labels for 48"),
    ("evaluate missing label", {"a.csv": "1\nnan\n2\n"}, ("evaluate", "a.csv", "a.csv"), 3, r"a\.csv"),
    ("info of neither", {"a.bin": bytes(range(1, 256))}, ("info", "a.bin"), 3, r"a\.bin.*format"),
    ("generate", {}, ("generate", "tcsh"), 2, r"tcsh"),
    ("demo per-class", {}, ("demo", "--per-class", "1"), 2, r"per-class"),
]


class BadInput(Case):
    def setUp(self):
        super().setUp()
        self.call(*FIT[:1], "data.npy", *FIT[2:], "--pace", "quantile", "--quiet", status=1)
        os.rename(self.folder / "out.pw", self.folder / "model.pw")

    def check(self, arguments, status, pattern, names=""):
        (self.folder / "out.pw").unlink(missing_ok=True)
        out, err = self.call(*arguments, status=status)
        last = err.strip().splitlines()[-1]
        self.assertTrue(last.startswith("pacewise: " + (names and names + ": ")), err)
        self.assertRegex(last, pattern)
        self.assertEqual(err.count("pacewise: "), 1, err)
        self.assertFalse((self.folder / "out.pw").exists())
        self.assertEqual([p.name for p in self.folder.iterdir() if p.name.endswith(".tmp")], [])

    def test_data_files(self):
        for name, content, status, pattern in DATA:
            with self.subTest(name):
                self.write(name, content)
                self.check([a.format(data=name) for a in FIT], status, pattern, names=name)

    def test_calls(self):
        for name, files, arguments, status, pattern in CALLS:
            with self.subTest(name):
                for file, content in files.items():
                    self.write(file, content)
                self.check([a.format(data="data.npy") for a in arguments], status, pattern)
                for file in files:
                    os.remove(self.folder / file)

    def test_damaged_models(self):
        good = (self.folder / "model.pw").read_bytes()
        cases = [(good[:n], r"cut short|damaged|not a Pacewise model") for n in (0, 5, 20, 40, len(good) // 2, len(good) - 1)]
        cases += [(good + b"x", r"cut short or damaged")]
        later = struct.pack("<I", 5)
        checksum = struct.pack("<I", zlib.crc32(later + good[16:]))
        cases += [(good[:8] + later + checksum + good[16:], r"format version 5.*newer Pacewise")]
        for at in (9, 13, 40, len(good) - 70):
            flipped = bytearray(good)
            flipped[at] ^= 1 << at % 8
            cases.append((bytes(flipped), r"damaged|cut short"))
        for number, (content, pattern) in enumerate(cases):
            with self.subTest(number):
                self.write("bad.pw", content)
                self.check(["info", "bad.pw"], 3, pattern)

    def test_a_sound_checksum_over_nonsense(self):
        changes = [lambda h: h.pop("options"), lambda h: h["arrays"].pop("dictionary"), lambda h: h.update(shape=[48]),
                   lambda h: h["arrays"]["dictionary"].update(shape=[4, 10**6]), lambda h: h.update(arrays=[]),
                   lambda h: h["arrays"]["dictionary"].update(shape=[-4, 16]), lambda h: h.update(shape=[48, 3]),
                   lambda h: h["arrays"]["codes_atom"].update(offset=0), lambda h: h["state"]["schedule"].update(phase="late"),
                   lambda h: h["arrays"]["dictionary"].update(dtype="<f4"),
                   lambda h: h["options"].update(alpha=-1), lambda h: h["state"].pop("history"), lambda h: h.update(incidence=[48, 7]),
                   lambda h: h.update(precision="triple"), lambda h: h["state"]["descent"].update(settled=True)]
        good = (self.folder / "model.pw").read_bytes()
        for number, change in enumerate(changes):
            with self.subTest(number):
                self.write("bad.pw", good)
                with_header(self.folder / "bad.pw", change)
                self.check(["info", "bad.pw"], 3, r"bad\.pw")

    def test_unwritable_stdout(self):
        with open("/dev/full", "w") as full:
            process = start(["info", "model.pw"], self.folder, stdout=full)
            _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 4, err)
        self.assertRegex(err, r"^pacewise: stdout: cannot write")

    def test_a_disk_that_fills_up_keeps_the_old_model(self):
        """The system refuses every byte after the first 4096 of a file, as a full disk would."""
        old = (self.folder / "model.pw").read_bytes()
        process = start(["fit", "data.npy", "-o", "model.pw", "--atoms", "6", "--max-iter", "3"], self.folder,
                        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 4, err)
        self.assertRegex(err.splitlines()[-1], r"^pacewise: model\.pw: cannot write: ")
        self.assertEqual((self.folder / "model.pw").read_bytes(), old)
        self.assertEqual([p.name for p in self.folder.iterdir() if p.name.endswith(".tmp")], [])

    def test_pictures_of_different_sizes_are_both_named(self):
        (self.folder / "pictures").mkdir()
        (self.folder / "pictures" / "a.pgm").write_bytes(b"P5 2 2 255\nabcd")
        (self.folder / "pictures" / "b.pgm").write_bytes(b"P5 3 1 255\nabc")
        self.check([a.format(data="pictures") for a in FIT], 3, r"a\.pgm is 2 x 2 pixels.*b\.pgm is 3 x 1")

    def test_missing_samples_are_no_error(self):
        rows = [list(row) for row in ROWS]
        rows[3] = [NAN] * 16
        rows[5][2] = NAN
        self.write("holes.npy", npy_bytes(rows))
        self.call("fit", "holes.npy", "-o", "holes.pw", "--atoms", "4", "--tol", "1e-3", "--polish", "100")
        self.call("verify", "holes.pw", "holes.npy")


if __name__ == "__main__":
    unittest.main()
