"""The pages of `fit --report` and `demo`, opened in Chromium: they slide, show the right values, ask for nothing from anywhere and
complain of nothing, in light and dark, on a phone, on paper and without JavaScript."""
import html
import os
import pathlib
import random
import re
import struct
import sys
import tempfile
import unittest

from browser import CHROMIUM, Browser
from harness import Case, json, npy_bytes, read_npy, run

SIDE = 8
LABELS = ["cup", "car", "duck"]


def pictures(count=60, seed=3):
    """Noisy blocks, some with a wild corner, some entries missing: samples of SIDE x SIDE numbers."""
    draw = random.Random(seed)
    rows = []
    for j in range(count):
        band = j % len(LABELS)
        row = [(1.0 if band * 2 <= i < band * 2 + 3 else 0.1) + draw.gauss(0, 0.05) for i in range(SIDE) for _ in range(SIDE)]
        if j % 10 == 0:
            for i in range(3):
                row[i * SIDE:i * SIDE + 3] = [draw.choice((-3, 3)) * draw.random() for _ in range(3)]
        if j % 20 == 0:
            row[-1] = float("nan")
        rows.append(row)
    return rows


def with_body(page, body):
    """The page's own styles and script around another body."""
    head, rest = page.split("<body>", 1)
    return f"{head}<body>{body}<script>{rest.split('<script>', 1)[1]}"


class Pages(Case):
    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(holder.cleanup)
        cls.made = folder = pathlib.Path(holder.name)
        (folder / "pictures.npy").write_bytes(npy_bytes(pictures()))
        (folder / "numbers.npy").write_bytes(npy_bytes([row[:13] for row in pictures()]))
        (folder / "labels.csv").write_text("\n".join(LABELS[j % 3] for j in range(60)) + "\n")
        for data in ("pictures", "numbers"):
            for level in ("none", "sample", "feature", "element"):
                name = f"{data}-{level}"
                more = [] if level == "none" else ["--weights-out", f"{name}.npy"]
                status, out, err = run(["fit", f"{data}.npy", "-o", "m.pw", "--atoms", "6", "--level", level, "--labels", "labels.csv",
                                        "--final", "0.95", "--polish", "0", "--report", f"{name}.html", "--json", f"{name}.json", *more],
                                       folder)
                if status not in (0, 1):
                    raise AssertionError(f"{name}: status {status}\n{out}{err}")
        cls.browser = cls.enterClassContext(Browser())

    def open(self, path, **how):
        tab = self.browser.open(path, **how)
        self.addCleanup(tab.close)
        tab.settle()
        return tab

    def check_quiet(self, tab):
        tab.settle()
        self.assertEqual(tab.errors, [])
        self.assertEqual(tab.requests, [])

    def page(self, name):
        return self.made / f"{name}.html"

    def table(self, tab, number):
        rows = f"document.querySelectorAll('table:has(thead)')[{number}].rows"
        return tab.value(f"Array.from({rows}, r => Array.from(r.cells, c => c.textContent))")

    def crafted(self, body):
        return self.write("crafted.html", with_body(self.page("pictures-none").read_text(), body))

    def test_every_page_in_light_dark_and_narrow(self):
        pages = sorted(self.made.glob("*.html"))
        self.assertEqual(len(pages), 8)
        status, _, err = run(["demo", "--data", "nowhere", "--per-class", "4", "--atoms", "6", "-o", "demo.html", "--quiet"], self.made)
        self.assertEqual(status, 0, err)
        for path in [*pages, self.page("demo")]:
            colours = []
            for how in ({}, {"dark": True}, {"width": 390, "height": 844}):
                with self.subTest(page=path.name, **how):
                    tab = self.open(path, **how)
                    self.check_quiet(tab)
                    colours.append(tab.value("getComputedStyle(document.body).backgroundColor"))
                    wide = tab.value("[document.documentElement.scrollWidth, document.body.scrollWidth, innerWidth]")
                    self.assertLessEqual(max(wide[:2]), how.get("width", 1000))
                    self.assertEqual(wide[2], how.get("width", 1000))
            self.assertEqual(colours, ["rgb(255, 255, 255)", "rgb(20, 24, 30)", "rgb(255, 255, 255)"])

    def test_sections(self):
        for data in ("pictures", "numbers"):
            for level in ("none", "sample", "feature", "element"):
                page = html.unescape(self.page(f"{data}-{level}").read_text())
                for title in ("Course of the run", "Learned atoms", "Clusters against labels"):
                    self.assertIn(f"<h2>{title}</h2>", page)
                self.assertEqual("<h2>Least trusted samples</h2>" in page, level != "none")
                shown = data == "pictures"  # a table has its cells in the place of a map
                self.assertEqual("<h2>Doubted cells</h2>" in page, not shown and level != "none")
                self.assertEqual("<h2>Weights of the entries</h2>" in page, shown and level == "element")
                self.assertEqual("<h2>Weights of the features</h2>" in page, shown and level == "feature")
                self.assertEqual('type="range"' in page, shown and level in ("feature", "element"))
                for name in ("codes", "dictionary", "consistency"):
                    self.assertIn(f"<td>certificate: {name}</td>", page)

    def test_confusion_adds_up(self):
        tab = self.open(self.page("pictures-element"))
        rows = self.table(tab, 1)
        self.assertEqual(sorted(rows[0][1:4]), sorted(LABELS))
        self.assertEqual(sorted(row[0] for row in rows[1:]), sorted(LABELS))
        matched = 0
        for row in rows[1:]:
            counts = [int(cell) for cell in row[1:4]]
            self.assertEqual(sum(counts), 20)
            own = counts[rows[0][1:4].index(row[0])]
            self.assertEqual(row[4], f"{100 * own / 20:.1f}%")
            matched += own
        # no other one-to-one matching puts more samples on the diagonal
        counts = [[int(cell) for cell in row[1:4]] for row in rows[1:]]
        best = max(counts[0][a] + counts[1][b] + counts[2][c] for a in range(3) for b in range(3) for c in range(3) if len({a, b, c}) == 3)
        self.assertEqual(matched, best)

    def test_confusion_of_many_labels_is_short(self):
        self.write("many.csv", "\n".join(str(j % 25) for j in range(60)) + "\n")
        run(["fit", self.made / "numbers.npy", "-o", "m.pw", "--atoms", "6", "--level", "none", "--labels", "many.csv", "--report", "r.html",
             "--quiet"], self.folder)
        tab = self.open(self.folder / "r.html")
        rows = self.table(tab, 1)
        self.assertEqual(rows[0], ["label", "samples", "in its cluster", "matched", "mostly taken for"])
        self.assertEqual({row[0]: int(row[1]) for row in rows[1:]}, {str(c): sum(j % 25 == c for j in range(60)) for c in range(25)})
        for _, samples, own, share, taken in rows[1:]:
            self.assertEqual(share, f"{100 * int(own) / int(samples):.1f}%")
            wrong = re.fullmatch(r"(?:no label|\d+) \((\d+)\)", taken)
            self.assertEqual(wrong is None, int(own) == int(samples), taken)
            self.assertLessEqual(int(wrong[1]) if wrong else 0, int(samples) - int(own))

    def test_least_trusted_are_those_of_least_weight(self):
        tab = self.open(self.page("numbers-sample"))
        rows = tab.value("Array.from([...document.querySelectorAll('table:has(thead)')].find(t => t.textContent.includes('score')).rows, "
                         "r => Array.from(r.cells, c => c.textContent))")
        self.assertEqual(rows[0], ["sample", "score", "weight", "label"])
        samples, scores = [int(row[0]) for row in rows[1:]], [float(row[1]) for row in rows[1:]]
        weights = struct.unpack("<60d", read_npy(self.made / "numbers-sample.npy"))
        self.assertEqual(len(samples), 20)
        self.assertEqual(scores, sorted(scores, reverse=True))
        for sample, row in zip(samples, rows[1:]):
            self.assertEqual(row[2:], [f"{weights[sample]:.3f}", LABELS[sample % 3]])
            self.assertAlmostEqual(max(0, 1 - float(row[1])), weights[sample], delta=1e-3)  # linear: v = max(0, 1 - l / lambda)
        self.assertLessEqual(max(weights[j] for j in samples), min(weights[j] for j in range(60) if j not in samples))

    def caption(self, tab):
        shown = tab.value("Array.from(document.querySelectorAll('.frame')).filter(f => f.offsetHeight > 0)"
                          ".map(f => f.querySelector('.caption').textContent)")
        self.assertEqual(len(shown), 1)
        return shown[0]

    def test_slider(self):
        for level in ("element", "feature"):
            tab = self.open(self.page(f"pictures-{level}"))
            captions = tab.value("Array.from(document.querySelectorAll('.frame .caption'), c => c.textContent)")
            history = json.loads((self.made / f"pictures-{level}.json").read_text())["history"]
            paced = [r for r in history if r["lambda"] is not None]
            self.assertEqual([int(re.match(r"iteration (\d+): ", c)[1]) for c in captions[:-1]], [r["iteration"] for r in paced])
            for caption, record in zip(captions, paced):
                self.assertTrue(caption.endswith(f"{100 * record['selected']:.1f}% selected"), caption)
            self.assertEqual(self.caption(tab), captions[-1])
            self.assertTrue(captions[-1].startswith("at the end"))
            tab.value("document.querySelector('input[type=range]').focus()")
            tab.press("Home")
            self.assertEqual(self.caption(tab), captions[0])
            tab.press("ArrowRight")
            self.assertEqual(self.caption(tab), captions[1])
            self.assertEqual(tab.value("document.querySelector('input').getAttribute('aria-valuetext')"), captions[1])
            tab.click("document.querySelector('input[type=range]')")
            middle = int(tab.value("document.querySelector('input[type=range]').value"))
            self.assertAlmostEqual(middle, (len(captions) - 1) / 2, delta=1)
            self.assertEqual(self.caption(tab), captions[middle])
            self.check_quiet(tab)

    def test_slider_of_a_long_pace(self):
        """More iterations than frames: evenly spaced, the first one kept."""
        run(["fit", self.made / "pictures.npy", "-o", "m.pw", "--atoms", "4", "--level", "element", "--pace-iter", "130", "--polish", "0",
             "--max-iter", "150", "--tol", "1e-9", "--report", "r.html", "--json", "r.json", "--quiet"], self.folder)
        paced = [r["iteration"] for r in json.loads((self.folder / "r.json").read_text())["history"] if r["lambda"] is not None]
        self.assertGreater(len(paced), 120)
        shown = [int(i) for i in re.findall(r">iteration (\d+): lambda", (self.folder / "r.html").read_text())]
        self.assertLessEqual(len(shown), 40)
        self.assertGreaterEqual(len(shown), 20)
        self.assertEqual(shown[0], paced[0])
        self.assertEqual({b - a for a, b in zip(shown, shown[1:])}, {4})

    def test_dots_tell_their_values(self):
        history = json.loads((self.made / "pictures-element.json").read_text())["history"]
        titles = re.findall(r"<title>iteration (\d+) \((\w+)\): objective (\S+?)(?: at lambda \S+)?</title>",
                            self.page("pictures-element").read_text())
        self.assertEqual([(int(i), phase) for i, phase, _ in titles], [(r["iteration"], r["phase"]) for r in history])
        for (_, _, value), record in zip(titles, history):
            self.assertAlmostEqual(float(value) / record["objective"], 1, delta=1e-5)

    def test_maps_show_the_weights(self):
        tab = self.open(self.page("pictures-element"))
        weights = struct.unpack(f"<{60 * SIDE * SIDE}d", read_npy(self.made / "pictures-element.npy"))
        listed = tab.value("document.body.textContent.match(/least weight when the pace began: ([\\d, ]+)/)[1]")
        samples = [int(word) for word in listed.split(",")]
        self.assertEqual(len(samples), 16)
        width = 8 * (SIDE + 1) + 1
        grey = tab.value("""(image => {
          const canvas = Object.assign(document.createElement("canvas"), {width: image.naturalWidth, height: image.naturalHeight});
          canvas.getContext("2d").drawImage(image, 0, 0);
          const bytes = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
          return Array.from({length: bytes.length / 4}, (_, k) => bytes[4 * k]);
        })(document.querySelector('.frame:last-child img'))""")
        self.assertEqual(len(grey), width * (2 * (SIDE + 1) + 1))
        missing = 0
        for tile, sample in enumerate(samples):
            for row in range(SIDE):
                for column in range(SIDE):
                    y, x = tile // 8 * (SIDE + 1) + 1 + row, tile % 8 * (SIDE + 1) + 1 + column
                    if sample % 20 == 0 and (row, column) == (SIDE - 1, SIDE - 1):
                        self.assertEqual(grey[y * width + x], 128)  # no value
                        missing += 1
                    else:
                        self.assertAlmostEqual(grey[y * width + x] / 255, weights[sample * SIDE * SIDE + row * SIDE + column], delta=0.01)
        self.assertGreater(missing, 0)

    def test_on_paper(self):
        tab = self.open(self.page("pictures-element"), dark=True, media="print")
        self.assertTrue(self.caption(tab).startswith("at the end"))
        self.assertEqual(tab.value("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)")
        tab.value("(s => { s.value = 0; s.dispatchEvent(new Event('input')); })(document.querySelector('input'))")
        self.assertTrue(self.caption(tab).startswith("at the end"))
        self.assertEqual(tab.value("document.querySelector('.slide').offsetHeight"), 0)
        self.check_quiet(tab)

    def test_without_script(self):
        tab = self.open(self.page("pictures-element"), script=False)
        self.assertTrue(self.caption(tab).startswith("at the end"))
        self.assertEqual(tab.value("document.querySelector('.slide').offsetHeight"), 0)
        self.assertGreater(tab.value("document.querySelector('table:has(thead) tbody').offsetHeight"), 20)
        self.check_quiet(tab)

    def test_names_are_text(self):
        (self.folder / "<b>&.npy").write_bytes(npy_bytes(pictures()))
        self.write("names.csv", "\n".join(["<i>x</i>", "\"&amp;\""][j % 2] for j in range(60)) + "\n")
        run(["fit", "<b>&.npy", "-o", "m.pw", "--atoms", "4", "--labels", "names.csv", "--report", "r.html", "--quiet"], self.folder)
        tab = self.open(self.folder / "r.html")
        self.assertEqual(tab.value("document.title"), "Pacewise fit: <b>&.npy")
        self.assertEqual(tab.value("document.querySelectorAll('b, i').length"), 0)
        self.assertIn("<i>x</i>", tab.value("document.body.textContent"))
        self.check_quiet(tab)

    def test_planted_faults_are_found(self):
        picture, fetch = "<img src='http://127.0.0.1:9/planted.png'>", "<script>fetch('http://127.0.0.1:9/planted')</script>"
        sheet = "<link rel=stylesheet href=planted.css>"
        for fault, what in (("<script>console.error('planted')</script>", "errors"), ("<script>nothing.here()</script>", "errors"),
                            ("<script>Promise.reject(new Error('planted'))</script>", "errors"),
                            (picture, "requests"), (fetch, "requests"), (sheet, "requests")):
            with self.subTest(fault=fault):
                tab = self.open(self.write("planted.html", f"<!DOCTYPE html><body>{fault}"))
                self.assertNotEqual(getattr(tab, what), [])
        for fault in (picture, fetch, sheet, "<script src=planted.js></script>"):  # the policy of our pages stops them
            with self.subTest(fault=fault):
                self.assertRegex(" ".join(self.open(self.crafted(fault)).errors), "Content Security Policy")
        tab = self.open(self.crafted("<p style='width:700px'>wide</p>"), width=390, height=844)
        self.assertGreater(tab.value("document.documentElement.scrollWidth"), 390)


if __name__ == "__main__":
    if CHROMIUM is None:
        print("skipped: chromium is not installed (apt-get install chromium)")
        sys.exit(77)
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    unittest.main()
