"""Signals, kills and resumption: nothing is ever half written, and a resumed run ends with the same bits."""
import json
import os
import random
import signal
import time
import unittest

from harness import Case, npy_bytes, planted, read_container, run, start

LONG = ("--tol", "0", "--polish", "400", "--max-iter", "400", "--step-tol", "1e-9")


class Interruption(Case):
    def setUp(self):
        super().setUp()
        self.write("large.npy", npy_bytes(planted(240, 48, 5)[0]))

    def same(self, first, second):
        self.assertEqual((self.folder / first).read_bytes(), (self.folder / second).read_bytes())

    def interrupt(self, number, iteration, *arguments):
        """Sends the signal once this iteration was shown."""
        process = start(arguments, self.folder)
        for line in process.stderr:
            if line.startswith(f"iteration {iteration:3d} "):
                break
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
        return process.returncode, err

    def test_a_signal_leaves_a_checkpoint_that_resumes_to_the_same_bits(self):
        for number, level, precision, iteration in ((signal.SIGINT, "element", "double", 9),
                                                    (signal.SIGTERM, "sample", "single", 1),
                                                    (signal.SIGHUP, "none", "double", 5),
                                                    (signal.SIGINT, "feature", "double", 40)):
            with self.subTest(level):
                base = ("fit", "large.npy", "--atoms", "24", "--level", level, "--precision", precision, *LONG)
                self.call(*base, "-o", "whole.pw", "--quiet", status=1)
                code, err = self.interrupt(number, iteration, *base, "-o", "cut.pw")
                self.assertEqual(code, 130, err)
                self.assertRegex(err.splitlines()[-1], r"^pacewise: interrupted after \d+ iterations; go on with: pacewise fit")
                self.assertFalse((self.folder / "cut.pw").exists())
                self.call("fit", "large.npy", "-o", "cut.pw", "--resume", "cut.pw.checkpoint", "--quiet", status=1)
                self.same("whole.pw", "cut.pw")
                os.remove(self.folder / "cut.pw")

    def test_checkpoints_at_every_phase_resume_to_the_same_bits(self):
        for level in ("element", "sample"):
            base = ("fit", "data.npy", "--atoms", "6", "--level", level, "--tol", "1e-4", "--polish", "100")
            self.call(*base, "-o", "whole.pw", "--codes", "whole.npy", "--json", "whole.json", "--quiet")
            history = json.loads((self.folder / "whole.json").read_text())["history"]
            ends = [now["iteration"] for now, then in zip(history, history[1:]) if now["phase"] != then["phase"]]  # the first draw
            for last in sorted({1, 7, 12, *ends[:2]}):
                with self.subTest(level=level, last=last):
                    self.call(*base, "-o", "part.pw", "--max-iter", last, "--checkpoint", "c.pw", "--quiet", status=1)
                    self.call("fit", "data.npy", "-o", "on.pw", "--codes", "on.npy", "--resume", "c.pw", "--max-iter", "200", "--quiet")
                    self.same("whole.pw", "on.pw")
                    self.assertEqual((self.folder / "whole.npy").read_bytes(), (self.folder / "on.npy").read_bytes())

    def test_periodic_checkpoints(self):
        self.call("fit", "data.npy", "-o", "m.pw", "--atoms", "6", "--max-iter", "9", "--checkpoint", "c.pw", "--every", "4",
                  "--quiet", status=1)
        out, _ = self.call("info", "c.pw")
        self.assertRegex(out, r"kind +checkpoint")
        self.assertRegex(out, r"iterations +9")
        _, err = self.call("verify", "c.pw", "data.npy", status=3)
        self.assertIn("is a checkpoint", err)

    def test_a_second_signal_kills(self):
        process = start(("fit", "large.npy", "-o", "m.pw", "--atoms", "40", "--max-iter", "100000", "--tol", "0",
                         "--polish", "100000", "--quiet"), self.folder)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        for _ in range(200):
            if process.poll() is not None:
                break
            process.send_signal(signal.SIGINT)
            time.sleep(0.002)
        process.communicate(timeout=30)
        self.assertIn(process.returncode, (130, -signal.SIGINT))

    def test_interrupted_before_the_first_iteration(self):
        for _ in range(20):
            process = start(("fit", "large.npy", "-o", "m.pw", "--atoms", "40", "--tol", "0", "--checkpoint", "c.pw"), self.folder)
            next(line for line in process.stderr if "first codes" in line)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=30)
            self.assertEqual(process.returncode, 130)
            if b"dictionary" not in (self.folder / "c.pw").read_bytes():
                break
        self.call("info", "c.pw")
        code, _, err = run(("fit", "large.npy", "-o", "m.pw", "--resume", "c.pw", "--max-iter", "100", "--quiet"), self.folder)
        self.assertIn(code, (0, 1), err)

    def test_kill_at_any_moment_leaves_the_old_or_the_new_file(self):
        """Two models take turns, so that the old file and the new one can be told apart."""
        tiny = ("fit", "data.npy", "-o", "m.pw", "--atoms", "4", "--plain-iter", "1", "--warm-iter", "1", "--pace-iter", "1",
                "--polish", "1", "--threads", "1", "--quiet", "--seed")
        objective, seconds = {}, []
        for seed in (2, 1):
            began = time.monotonic()
            code, _, err = run((*tiny, seed), self.folder)
            seconds.append(time.monotonic() - began)
            self.assertIn(code, (0, 1), err)
            objective[seed] = read_container(self.folder / "m.pw")[0]["objective"]
        self.assertNotEqual(objective[1], objective[2])
        draw = random.Random(7)
        there, killed, replaced, rounds = 1, 0, 0, 0
        while killed < 200:
            rounds += 1
            self.assertLess(rounds, 1000)
            process = start((*tiny, 3 - there), self.folder)
            time.sleep(min(seconds) * draw.uniform(0.2, 1.1))
            process.kill()
            process.communicate(timeout=30)
            killed += process.returncode == -signal.SIGKILL
            found = read_container(self.folder / "m.pw")[0]["objective"]
            self.assertIn(found, objective.values())
            if found == objective[3 - there]:
                there = 3 - there
                replaced += 1
            else:
                self.assertEqual(process.returncode, -signal.SIGKILL)
            if rounds % 50 == 0:
                self.call("info", "m.pw")
        self.assertGreater(replaced, 0)
        self.write("m.pw.1f2e.tmp", b"of a writer that was killed")
        self.write("m.pw.name.tmp", b"of somebody else")
        run((*tiny, 1), self.folder)
        self.assertEqual([p.name for p in self.folder.iterdir() if p.name.endswith(".tmp")], ["m.pw.name.tmp"])


if __name__ == "__main__":
    unittest.main()
