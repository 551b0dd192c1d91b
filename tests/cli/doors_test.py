"""One model file for three doors: the program, Python and C++ write the same bytes and read each other's models."""
import json
import os
import subprocess
import unittest

from harness import Case, ROOT, csv_text, planted

PYTHON = os.environ.get("PACEWISE_PYTHON", str(ROOT / ".venv/bin/python"))  # one with the package: tools/python-env makes it
DOOR = os.environ.get("PACEWISE_DOOR", "door")
OPTIONS = {"pace_iter": 4, "polish": 3}
IN_PYTHON = """
import json, sys, warnings
import numpy as np, pacewise
warnings.simplefilter("ignore")
X = np.loadtxt("data.csv", delimiter=",")
if sys.argv[1] == "fit":
    pacewise.SelfPacedSparseCoder(5, random_state=0, **json.loads(sys.argv[3])).fit(X).save(sys.argv[2])
else:
    for code in pacewise.SelfPacedSparseCoder.load(sys.argv[2]).transform(X).ravel():
        print(repr(float(code)))
"""


class Doors(Case):
    def setUp(self):
        super().setUp()
        self.rows = planted()[0]
        self.write("data.csv", csv_text(self.rows))

    def run_door(self, *command, given=None):
        done = subprocess.run(command, cwd=self.folder, input=given, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def program(self, what, model):
        if what == "fit":
            self.call("fit", "data.csv", "-o", model, "--atoms", "5", *(f"--{k.replace('_', '-')}={v}" for k, v in OPTIONS.items()),
                      "--quiet")
            return []
        self.call("encode", model, "data.csv", "-o", "codes.csv")
        return [float(x) for row in (self.folder / "codes.csv").read_text().split() for x in row.split(",")]

    def python(self, what, model):
        return [float(x) for x in self.run_door(PYTHON, "-c", IN_PYTHON, what, model, json.dumps(OPTIONS)).split()]

    def cpp(self, what, model):
        numbers = " ".join(repr(x) for row in self.rows for x in row)
        out = self.run_door(DOOR, what, str(len(self.rows)), str(len(self.rows[0])), model, given=numbers)
        return [float(x) for x in out.split()]

    def test_each_door_reads_what_the_others_write(self):
        doors = {"program": self.program, "python": self.python, "cpp": self.cpp}
        for name, door in doors.items():
            door("fit", f"{name}.pw")
        files = {name: (self.folder / f"{name}.pw").read_bytes() for name in doors}
        self.assertEqual(files["program"], files["python"])
        self.assertEqual(files["program"], files["cpp"])
        codes = {name: door("codes", "program.pw") for name, door in doors.items()}
        self.assertEqual(len(codes["cpp"]), 5 * len(self.rows))
        self.assertEqual(codes["program"], codes["cpp"])
        self.assertEqual(codes["python"], codes["cpp"])


if __name__ == "__main__":
    unittest.main()
