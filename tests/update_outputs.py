"""Put what the blocks of a page print now below them: `python tests/update_outputs.py [PAGE …]`.

Without a page, all of them and the notebooks. A notebook, such as examples/tour.ipynb, is run. Read
the difference before you commit it: the pages are a check.
"""

import contextlib
import io
import os
import sys
import tempfile
from pathlib import Path

import nbformat

from test_docs import PAGES, blocks_of, command_of
from test_notebooks import NOTEBOOKS, executed


def updated(text, name):
    """The page with its outputs as they are now."""
    lines, printed, namespace, shift = text.splitlines(keepends=True), None, {}, 0
    for block in blocks_of(text):
        if block.is_output and printed is not None:
            old = block.text.splitlines(keepends=True)
            new = printed.splitlines(keepends=True)
            start = block.line + shift
            lines[start : start + len(old)] = new
            shift += len(new) - len(old)
        printed = None
        if block.language == "console" and not name.endswith("cli.md"):
            said, now = command_of(block.text)
            old, new = block.text.splitlines(keepends=True), now.splitlines(keepends=True)
            kept = len(old) - len(said.splitlines())
            start = block.line + shift
            lines[start + kept : start + len(old)] = new
            shift += len(new) - (len(old) - kept)
        if block.language.startswith("py"):
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile("\n" * block.line + block.text, name, "exec"), namespace)
            printed = out.getvalue()
    return "".join(lines)


if __name__ == "__main__":
    pages = [Path(name).resolve() for name in sys.argv[1:]] or [*PAGES, *NOTEBOOKS]
    for page in pages:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            if page.suffix == ".ipynb":
                nbformat.write(executed(page, folder), page)
                continue
            page.write_text(updated(page.read_text(encoding="utf-8"), str(page)), encoding="utf-8")
