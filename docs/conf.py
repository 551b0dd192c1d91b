"""The documentation site: sphinx-build -c docs . build/docs (make docs)."""

import pathlib
import re
import subprocess

root = pathlib.Path(__file__).resolve().parents[1]

project = "Pacewise"
author = "the Pacewise developers"
release = (root / "VERSION").read_text().strip()
copyright = "BSD-3-Clause"

# the documents stay where they are read on their own, so that their links work there too
include_patterns = ["README.md", "HACKING.md", "CHANGELOG.md", "docs/*.md", "docs/reference/*.md", "docs/results/README.md"]
root_doc = "docs/index"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinxcontrib.programoutput"]
myst_heading_anchors = 4
myst_links_external_new_tab = True

html_theme = "furo"
html_title = f"Pacewise {release}"
html_show_copyright = False
html_static_path = ["site.css"]
html_css_files = ["site.css"]
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_use_ivar = True
napoleon_google_docstring = False


# the pages that list what there is
HEADERS = ["model", "options", "data", "steps", "evaluate"]  # first of all


def headers():
    names = sorted(path.stem for path in (root / "include/pacewise").glob("*.hpp"))
    for name in [*HEADERS, *(name for name in names if name not in [*HEADERS, "pacewise"])]:
        yield f"## {name}.hpp\n\n```{{literalinclude}} ../../include/pacewise/{name}.hpp\n:language: cpp\n```\n"


def commands():
    listed = subprocess.run(["pacewise", "--help"], capture_output=True, text=True, check=True).stdout
    for name in re.findall(r"^  ([a-z]+) ", listed.split("Subcommands:")[1], re.MULTILINE):
        yield f"## {name}\n\n```{{command-output}} pacewise {name} --help\n```\n"


LISTS = {"docs/reference/cpp": headers, "docs/reference/program": commands}


def setup(app):
    def append(app, name, source):
        source[0] += "\n".join(["", *LISTS.get(name, list)()])

    def bars(app, what, name, obj, options, lines):
        lines[:] = [line.replace("|", r"\|") for line in lines]  # of a norm; reStructuredText would substitute

    app.connect("source-read", append)
    app.connect("autodoc-process-docstring", bars)
