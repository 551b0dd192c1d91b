"""Tables: what the data are is said, missing and wrong cells are mended, names come back, the page shows them."""
import csv
import html
import io
import random
import re
import unittest

from harness import Case, npy_bytes

COLUMNS = ["alcohol, vol", "acid", "proline", "hue"]
SCALES = (1, 0.01, 1000, 30)


def bottles(count=120, seed=5):
    """Rows of four quantities that share a cause, the wrong cells (row, column) and those that are missing."""
    draw = random.Random(seed)
    rows = []
    for _ in range(count):
        common = draw.gauss(0, 1)
        rows.append([s * (10 + (common if k % 2 else -common) + draw.gauss(0, 0.1)) for k, s in enumerate(SCALES)])
    wrong = [(7 * k % count, k % 4) for k in range(1, 13)]
    missing = [(11 * k % count, (k + 1) % 4) for k in range(1, 9) if (11 * k % count, (k + 1) % 4) not in wrong]
    return rows, wrong, missing


class Tables(Case):
    def setUp(self):
        super().setUp()
        self.clean, self.wrong, self.missing = bottles()
        given = [list(row) for row in self.clean]
        for j, k in self.wrong:
            given[j][k] += 12 * SCALES[k]
        for j, k in self.missing:
            given[j][k] = ""
        out = io.StringIO()
        write = csv.writer(out, lineterminator="\n")
        write.writerow(["bottle", *COLUMNS, "kind"])
        write.writerows([f"w{j:03d}", *row, "red" if j % 2 else "white"] for j, row in enumerate(given))
        self.write("wine.csv", out.getvalue())

    def read(self, name):
        return list(csv.reader((self.folder / name).read_text().splitlines()))

    def check_names(self, rows):
        self.assertEqual(rows[0], ["bottle", *COLUMNS, "kind"])
        self.assertEqual([row[0] for row in rows[1:]], [f"w{j:03d}" for j in range(len(self.clean))])
        self.assertEqual([row[5] for row in rows[1:]], ["white", "red"] * (len(self.clean) // 2))

    def test_what_the_data_are_is_said_first(self):
        _, err = self.call("fit", "wine.csv", "-o", "m.pw", "--max-iter", "2", status=1)
        lines = [line for line in err.splitlines() if "left out" not in line and "names the samples" not in line]
        self.assertEqual(lines[1], "note: The data are taken as a table (fewer than 32 features): columns centred and scaled robustly, an offset "
                                   "for each, 16 atoms, l2 = 0.3.")
        self.assertRegex(self.call("info", "m.pw", "--json")[0], r'"kind": "table"')
        for more, said in ((("--kind", "images"), r"as images \(as asked\): samples to unit norm, atoms chosen by hidden entries\."),
                           (("--normalize", "unit", "--atoms", "3"),
                            r"as a table \(fewer than 32 features\): samples to unit norm, an offset for each, 3 atoms, l2 = 0\.3\."),
                           (("--beta", "0.1", "--atoms", "3"), r"3 atoms\.$")):
            _, err = self.call("fit", "wine.csv", "-o", "m.pw", "--max-iter", "2", *more, status=1)
            self.assertRegex(err, "(?m)note: The data are taken " + said if said.startswith("as") else "(?m)" + said)
        self.call("fit", "wine.csv", "-o", "m.pw", "--kind", "cubes", status=2)

    def test_a_run_with_centred_columns_is_resumed(self):
        self.call("fit", "wine.csv", "-o", "whole.pw", "--atoms", "4", "--quiet", "--checkpoint", "c.pw", "--every", "5")
        self.call("fit", "wine.csv", "-o", "part.pw", "--atoms", "4", "--quiet", "--max-iter", "3", "--checkpoint", "part.checkpoint", status=1)
        self.call("fit", "wine.csv", "-o", "again.pw", "--quiet", "--resume", "part.checkpoint", "--max-iter", "200")
        self.assertEqual(self.call("info", "again.pw")[0].splitlines()[1:3], self.call("info", "whole.pw")[0].splitlines()[1:3])

    def test_impute(self):
        out, _ = self.call("impute", "wine.csv", "-o", "filled.csv")
        self.assertEqual(out, f"{len(self.missing)} of 480 values were missing and are filled in: filled.csv\n")
        before, after = self.read("wine.csv"), self.read("filled.csv")
        self.check_names(after)
        for j, row in enumerate(self.clean):
            for k, value in enumerate(row):
                if (j, k) in self.missing:
                    self.assertLess(abs(float(after[j + 1][k + 1]) - value), 1.5 * SCALES[k], (j, k))
                else:
                    self.assertEqual(float(after[j + 1][k + 1]), float(before[j + 1][k + 1]))

    def test_clean(self):
        out, _ = self.call("clean", "wine.csv", "-o", "clean.csv", "--cells", "list.csv")
        before, after, cells = self.read("wine.csv"), self.read("clean.csv"), self.read("list.csv")
        self.check_names(after)
        self.assertEqual(cells[0], ["row", "column", "old", "new", "confidence"])
        changed = {(j, k) for j in range(len(self.clean)) for k in range(4) if before[j + 1][k + 1] and float(after[j + 1][k + 1]) != float(before[j + 1][k + 1])}
        self.assertEqual(changed, {(int(row[1:]), COLUMNS.index(column)) for row, column, *_ in cells[1:]})
        self.assertLessEqual(set(self.wrong), changed)
        self.assertLess(len(changed), 2 * len(self.wrong))
        for row, column, old, new, confidence in cells[1:]:
            j, k = int(row[1:]), COLUMNS.index(column)
            self.assertEqual((float(old), float(new)), (float(before[j + 1][k + 1]), float(after[j + 1][k + 1])))
            self.assertLessEqual(float(confidence), 1 / 3)
            if (j, k) in self.wrong:
                self.assertLess(abs(float(new) - self.clean[j][k]), 2.5 * SCALES[k])
        self.assertTrue(all(after[j + 1][k + 1] == "nan" for j, k in self.missing))
        self.assertRegex(out, rf"^{len(changed)} of 480 cells were replaced: clean\.csv\n")
        self.call("clean", "wine.csv", "-o", "list.csv", "--cells", "list.csv", status=2)
        self.call("impute", "wine.csv", "-o", "wine.csv", status=2)

    def test_text_comes_back_where_it_stood(self):
        text = "".join(f"{j % 7},t{j % 3},{j % 5},'{'' if j % 4 else 'x, y'}',{(j * j) % 11}\n".replace("'", '"') for j in range(40))
        header = 'a,"town, land",b,note,class\n'
        wanted = list(csv.reader((header + text).splitlines()))
        for content, start in ((header + text, 0), (text, 1)):
            self.write("words.csv", content)
            for command in ("impute", "clean"):
                for more in ((), ("--label-column", "class" if start == 0 else "5")):
                    with self.subTest(command=command, header=not start, more=more):
                        _, err = self.call(command, "words.csv", "-o", "out.csv", *more)
                        self.assertIn("written back as it stands", err)
                        found = self.read("out.csv")
                        if command == "impute":
                            self.assertEqual(found, wanted[start:])
                        else:
                            self.assertEqual([(r[1], r[3]) for r in found], [(r[1], r[3]) for r in wanted[start:]])
        self.write("words.csv", header + text)
        self.call("impute", "words.csv", "-o", "out.csv", "--columns", "a,b")
        self.assertEqual(self.read("out.csv")[0], ["a", "b"])
        self.call("impute", "words.csv", "-o", "out.csv", "--drop", "note,b")
        self.assertEqual(self.read("out.csv")[0], ["a", "town, land", "class"])
        _, err = self.call("impute", "words.csv", "-o", "out.npy")  # numbers alone
        self.assertIn("text, left out", err)

    def test_the_page_of_a_table(self):
        self.call("fit", "wine.csv", "-o", "m.pw", "--report", "r.html", "--label-column", "kind", "--quiet")
        page = html.unescape((self.folder / "r.html").read_text())
        self.assertNotIn("data:image/png", page.split("<h2>Clusters")[0])
        listed = re.findall(r"<tr><td>(w\d+)</td><td>([^<]+)</td><td>([^<]+)</td><td>([^<]+)</td><td>([^<]+)</td></tr>", page.split("<h2>Doubted cells</h2>")[1].split("<h2>")[0])
        found = {(int(row[1:]), COLUMNS.index(column)) for row, column, *_ in listed}
        self.assertLessEqual(set(self.wrong), found)
        self.assertEqual([float(line[4]) for line in listed], sorted(float(line[4]) for line in listed))
        for row, column, given, expected, _ in listed:
            j, k = int(row[1:]), COLUMNS.index(column)
            if (j, k) in self.wrong:
                self.assertAlmostEqual(float(given), self.clean[j][k] + 12 * SCALES[k], delta=1e-4 * abs(float(given)))
                self.assertLess(abs(float(expected) - self.clean[j][k]), 2.5 * SCALES[k])
        shown = page.split("<h2>Samples with doubted cells</h2>")[1].split("<h2>")[0]
        self.assertEqual(len(re.findall(r"<td style", shown)), len(re.findall(r"<td style=\"background:rgba\(220,60,40,0\.\d+\)\"", shown)))
        for title in ("Doubted cells", "Learned atoms", "Clusters against labels", "Least trusted samples"):
            self.assertIn(f"<h2>{title}</h2>", page)
        self.write("good.npy", npy_bytes(self.clean))
        self.call("fit", "good.npy", "-o", "g.pw", "--report", "g.html", "--level", "sample", "--kind", "table", "--quiet")
        self.assertIn("<h2>Doubted cells</h2>", (self.folder / "g.html").read_text())


if __name__ == "__main__":
    unittest.main()
