"""What a user sees while a fit runs: a table, or a bar. Both go through Python's streams, so notebooks show them."""

from __future__ import annotations

import sys
import time
from typing import Any, Callable

from . import _core

Record = dict[str, Any]
Callback = Callable[[Record], Any]

_HEAD = " iter  phase      lambda  selected      objective  density  dead  codes cert.  dict. cert.   seconds"
_WIDTH = 24
_INTERVAL = 0.1  # seconds between two drawings of a bar


def table_line(record: Record) -> str:
    return (
        f"{record['iteration']:5d}  {record['phase']:6s}  {record['lambda']:10.4g}  {record['selected']:8.4f}"
        f"  {record['objective']:13.6g}  {record['density']:7.4f}  {record['dead_atoms']:4d}"
        f"  {record['certificate_codes']:11.2e}  {record['certificate_dictionary']:11.2e}"
        f"  {record['seconds']:8.2f}"
    )


def most_iterations(options: Record) -> int:
    """An upper bound that is known before the fit."""
    used = {**_core.preset_options(options["preset"], "images"), **{k: v for k, v in options.items() if v is not None}}
    if used["level"] == "none" or used["pace"] != "quantile":
        return used["max_iter"]
    return min(used["max_iter"], used["plain_iter"] + used["warm_iter"] + used["pace_iter"] + used["polish"])


class Bar:
    """One line on stderr that is drawn over itself: a carriage return is understood by terminals and notebooks."""

    def __init__(self, total: int):
        self.total = max(total, 1)
        self.began = time.monotonic()
        self.drawn = float("-inf")
        self.longest = 0
        self.last: Record | None = None

    def __call__(self, record: Record) -> None:
        self.last = record
        if time.monotonic() - self.drawn >= _INTERVAL:
            self.draw(record["iteration"], self.total)

    def close(self) -> None:
        """What was left to do will not be done: the fit has stopped."""
        if self.last is not None:
            self.draw(self.last["iteration"], self.last["iteration"])
            print(file=sys.stderr, flush=True)

    def draw(self, done: int, total: int) -> None:
        record, seconds = self.last or {}, time.monotonic() - self.began
        share = min(done / total, 1.0)
        left = seconds / share - seconds if share > 0 else 0.0
        bar = "█" * round(_WIDTH * share) + " " * (_WIDTH - round(_WIDTH * share))
        text = (
            f"fit {share:4.0%}|{bar}| {done}/{total} [{seconds:.1f}s<{left:.1f}s, {record['phase']},"
            f" selected {record['selected']:.2f}, objective {record['objective']:.5g}]"
        )
        self.longest = max(self.longest, len(text))
        print("\r" + text.ljust(self.longest), end="", file=sys.stderr, flush=True)
        self.drawn = time.monotonic()


def watcher(verbose: Any, callback: Callback | None, options: Record) -> tuple[Callback | None, Callable[[], None]]:
    """The callback of a fit that also shows it as ``verbose`` asks, and what to call when the fit is over."""
    if not verbose:
        return callback, lambda: None
    bar = Bar(most_iterations(options)) if verbose == "bar" else None
    if bar is None:
        print(_HEAD, flush=True)

    def show(record: Record) -> Any:
        if bar is None:
            print(table_line(record), flush=True)
        else:
            bar(record)
        return None if callback is None else callback(record)

    return show, (lambda: None) if bar is None else bar.close
