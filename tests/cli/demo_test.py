"""The demo: what it prints, and that `score` finds its corruption better than the reconstruction error of sparse coding."""
import pathlib
import re
import unittest

from harness import Case, json

FASHION = pathlib.Path("/usr/share/datasets/fashion-mnist")
METHODS = ["SC", "CSC", "SPSC-S", "SPSC-F", "SPSC-E"]
SEEDS = (0, 1, 2)
SMALL = ("--per-class", "20", "--atoms", "32", "--progress", "none")


class Demo(Case):
    def check_scores(self, folder):
        """AUROC by `score`, and by the plain reconstruction error of SC, of entries and of images, at every seed."""
        rows = []
        for seed in SEEDS:
            out, _ = self.call("demo", "--data", folder, *SMALL, "--seed", seed, "--json", "d.json", "-o", "d.html")
            table = json.loads((self.folder / "d.json").read_text())
            self.assertEqual([m["method"] for m in table["methods"]], METHODS)
            printed = re.search(r"pacewise score with the model of SPSC-E: AUROC (\S+) \(pixels\), (\S+) \(images\)", out)
            self.assertIsNotNone(printed, out)
            for shown, name in zip(printed.groups(), ("auroc_entries", "auroc_images")):
                self.assertAlmostEqual(float(shown), table["score"][name], delta=6e-4)
            rows.append([x[name] for x in (table["score"], table["methods"][0]) for name in ("auroc_entries", "auroc_images")])
            entries, images, plain_entries, plain_images = rows[-1]
            self.assertGreater(entries, plain_entries, f"seed {seed}")
            self.assertGreater(images, plain_images, f"seed {seed}")
            # where every image is damaged, what comes back is nearer to the clean images than from any other method, and than given
            every = {m["method"]: m for m in table["scenes"]["all"]}
            self.assertEqual(min(every, key=lambda name: every[name]["error"]), "SPSC-E", f"seed {seed}")
            self.assertLess(every["SPSC-E"]["error"], 0.7 * every["SPSC-E"]["error_given"], f"seed {seed}")
        mean = [sum(column) / len(rows) for column in zip(*rows)]
        print(f"{table['data']}: mean AUROC over {len(rows)} seeds, score / reconstruction error of SC: "
              f"entries {mean[0]:.3f} / {mean[2]:.3f}, images {mean[1]:.3f} / {mean[3]:.3f}")
        self.assertGreater(mean[0], 0.7)
        self.assertGreater(mean[1], 0.7)
        return table

    def test_drawn_shapes(self):
        self.assertIn("drawn shapes", self.check_scores("nowhere")["data"])

    @unittest.skipUnless(FASHION.is_dir(), "Fashion-MNIST is not installed")
    def test_fashion_mnist(self):
        self.assertIn("Fashion-MNIST, 20 test images of each class", self.check_scores(FASHION)["data"])

    def test_without_data_it_says_so(self):
        out, _ = self.call("demo", "--data", "nowhere", "--per-class", "4", "--atoms", "6", "-o", "d.html")
        self.assertIn("drawn shapes (Fashion-MNIST is not installed", out)
        for method in METHODS:
            self.assertRegex(out, rf"(?m)^{method} +0\.\d+")
        self.assertIn("report: d.html", out)
        self.assertIn("<svg", (self.folder / "d.html").read_text())

    def test_the_other_commands_on_its_images(self):
        self.call("demo", "--data", "nowhere", "--per-class", "10", "--save", "images", "--quiet")
        self.call("fit", "images/images.npy", "-o", "m.pw", "--atoms", "16", "--precision", "single",
                  "--quiet")
        for truth, name in (("changed", "the entries' confidence"), ("corrupted", "the outlier scores")):
            out, _ = self.call("score", "m.pw", "images/images.npy", "--truth", f"images/{truth}.npy")
            found = re.fullmatch(rf"AUROC of {name}: (\S+)\n", out)
            self.assertIsNotNone(found, out)
            self.assertGreater(float(found[1]), 0.6)
        _, err = self.call("score", "m.pw", "images/images.npy", "--truth", "data.npy", status=3)
        self.assertRegex(err, r"data\.npy: is 48 x 16; the truth is 60 numbers \(samples\) or 60 x 784 \(entries\)")


if __name__ == "__main__":
    unittest.main()
