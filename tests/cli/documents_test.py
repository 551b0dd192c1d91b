"""The documents of the program: what is generated names every option, and docs/cli.md runs as it stands, Python included."""
import os
import re
import struct
import subprocess
import unittest
import unittest.mock

from harness import BINARY, Case, ROOT, read_container

PYTHON = os.environ.get("PACEWISE_PYTHON", str(ROOT / ".venv/bin/python"))  # one with NumPy: tools/python-env makes it


class Documents(Case):
    def test_every_option_of_the_table_is_documented(self):
        """In help, manual page and completions; so is one that only this test adds to the table."""
        with unittest.mock.patch.dict(os.environ, PACEWISE_TEST_OPTION="fictitious"):
            self.call("fit", "data.npy", "-o", "model.pw", "--fictitious", "0.5", "--max-iter", "1", "--quiet", status=1)
            names = read_container(self.folder / "model.pw")[0]["options"]
            self.assertEqual(names["fictitious"], 0.5)
            _, complaint = self.call("fit", "data.npy", "-o", "model.pw", "--fictitious", "2", status=2)
            self.assertEqual(complaint, "pacewise: fictitious = 2: must be in [0, 1]\n")
            pages = {"help": self.call("fit", "--help")[0]}
            pages["man"] = self.call("generate", "man")[0]
            pages["completion"] = self.call("generate", "words", "fit", "-")[0]
        spelled = {"help": "--{}", "man": "\\-\\-{}", "completion": "\n--{}\t"}
        for page, text in pages.items():
            for name in names:
                option = ("no-" if name == "normalized_laplacian" else "") + name.replace("_", "-")
                if page == "man":
                    option = option.replace("-", "\\-")
                self.assertIn(spelled[page].format(option), text, f"{page} lacks {name}")
        self.assertIn("An option of the tests (in [0, 1]) [0.25]", pages["help"])
        self.assertIn("An option of the tests (in [0, 1]) [0.25]", pages["man"])

    def test_completions(self):
        """The shells ask the program what may follow; where it knows nothing they complete names of files."""
        shells = {
            "bash": ([], "", "COMP_WORDS=(%s); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _pacewise; echo ${COMPREPLY[@]}", "\n"),
            "zsh": (["-f"], "_describe() { print -rl -- ${(@P)2} }; _files() { print a file }; words=(true); CURRENT=1\n",
                    "words=(%s); CURRENT=$#words; _pacewise", "a file\n"),
            "fish": (["--no-config"], "", "complete -C '%s'", "data.npy\n"),
        }
        os.symlink(os.path.realpath(BINARY), self.folder / "pacewise")
        for shell, (flags, before, ask, file) in shells.items():
            def offered(words):
                script = before + self.call("generate", shell)[0] + ask % f"pacewise {words}"
                return self.in_folder([shell, *flags, "-c", script], 0).replace("\\", "")

            for words, wanted in {"fit --level el": "element", "fit --check": "--checkpoint", "rec": "reconstruct",
                                  "--vers": "--version", "fit --graph-space pc": "pca:40"}.items():
                with self.subTest(shell=shell, words=words):
                    self.assertRegex(offered(words), rf"(?m)^{wanted}([:\t]|$)")
            self.assertEqual(offered("fit data.np")[-len(file):], file)
            self.assertNotIn("--", offered("fit data.np"))

    def in_folder(self, command, *accepted):
        environment = dict(os.environ, PATH=f"{self.folder}:{os.environ['PATH']}")
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True)
        self.assertIn(done.returncode, accepted, f"{command}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def test_the_walk_through_runs_in_its_own_order(self):
        """On the data its first lines make; nothing is prepared here but the program's place in the path."""
        for name in ("data.npy", "labels.npy"):
            os.remove(self.folder / name)
        os.symlink(os.path.realpath(BINARY), self.folder / "pacewise")
        blocks = re.findall(r"```(\w+)\n(.*?)```", (ROOT / "docs/cli.md").read_text(), re.DOTALL)
        self.assertEqual({language for language, _ in blocks}, {"sh", "python"})
        commands, shown = [], ""
        for language, text in blocks:
            if language == "python":
                shown = self.in_folder([PYTHON, "-c", text, "model.pw"], 0)
                continue
            for command in text.splitlines():
                self.in_folder(["sh", "-c", command], *((0, 1) if command.startswith("pacewise fit") else (0,)))
                commands.append(command.split()[1])
        self.assertRegex(shown, r"^\S+ \(16, 16\) \d+\n$")
        self.assertEqual(set(commands), {"info", "impute", "clean", "fit", "verify", "encode", "mend", "reconstruct", "score", "cluster", "evaluate", "graph", "demo"})
        self.check_model()

    def check_model(self):
        header, array = read_container(self.folder / "model.pw")
        atoms, features = header["arrays"]["dictionary"]["shape"]
        numbers = struct.unpack(f"<{atoms * features}d", array("dictionary"))
        for k in range(atoms):
            self.assertLessEqual(sum(x * x for x in numbers[k * features:(k + 1) * features]), 1 + 1e-9)
        self.assertEqual(len(array("codes_start")), 8 * (header["shape"][0] + 1))


if __name__ == "__main__":
    unittest.main()
