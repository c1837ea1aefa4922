"""Put what the blocks of a page print now below them: `python tests/update_outputs.py [PAGE …]`.

Without a page, all of them. Read the difference before you commit it: the pages are a check.
"""

import contextlib
import io
import os
import sys
import tempfile
from pathlib import Path

from test_docs import PAGES, blocks_of


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
        if block.language.startswith("py"):
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile("\n" * block.line + block.text, name, "exec"), namespace)
            printed = out.getvalue()
    return "".join(lines)


if __name__ == "__main__":
    pages = [Path(name).resolve() for name in sys.argv[1:]] or PAGES
    for page in pages:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            page.write_text(updated(page.read_text(encoding="utf-8"), str(page)), encoding="utf-8")
