"""The Python in the documents runs as it stands, block after block."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("document", ["docs/python.md", "README.md"])
def test_python_blocks(document, tmp_path, monkeypatch):
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / document).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks
    monkeypatch.chdir(tmp_path)
    names: dict = {"__name__": "document"}
    for number, block in enumerate(blocks, 1):
        exec(compile(block, f"{document}, block {number}", "exec"), names)
