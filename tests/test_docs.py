"""What the pages say is run, and what they name exists."""

import contextlib
import importlib
import inspect
import io
import re
import shlex
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

import cli_reference
from askwise.learners import LEARNERS

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
EXAMPLES = sorted(ROOT.glob("examples/*.py"))
MUST_HAVE_CODE = {"README.md", "CONTRIBUTING.md", "docs/paper.md", "docs/real-life.md"}
OUTPUT = "<!-- output -->"


class Block(NamedTuple):
    language: str
    line: int
    """The number of the line before its first."""
    text: str
    is_output: bool
    """Whether it claims to be what the block before it printed."""


def blocks_of(text):
    """The fenced blocks of a page, in order."""
    found, inside, announced = [], None, False
    for number, line in enumerate(text.splitlines(), start=1):
        if inside is not None:
            language, start, lines = inside
            if line.strip() == "```":
                found.append(Block(language, start, "".join(lines), announced))
                inside, announced = None, False
            else:
                lines.append(line + "\n")
        elif line.lstrip().startswith("```"):
            assert line.startswith("```"), f"line {number}: an indented block would not be run"
            inside = line[3:].strip(), number, []
        elif line.strip() == OUTPUT:
            announced = True
        elif line.strip():
            assert not announced, f"line {number}: {OUTPUT} without a block behind it"
    assert inside is None, f"line {inside[1]}: a block that does not end"
    assert not announced, f"{OUTPUT} without a block behind it"
    return found


def run_page(text, name):
    """Run the Python blocks of a page in one namespace; returns how many there were."""
    namespace, printed, count = {"__name__": "page"}, None, 0
    for block in blocks_of(text):
        if block.is_output:
            assert block.language == "text", f"{name}:{block.line}: output must be a text block"
            assert printed is not None, f"{name}:{block.line}: output of no Python block"
            assert block.text == printed, f"{name}:{block.line}: printed was\n{printed}"
        printed = None
        if block.language == "console" and not name.endswith("cli.md"):
            said, now = command_of(block.text)
            assert said == now, f"{name}:{block.line}: printed was\n{now}"
            count += 1
        if block.language.startswith("py"):
            # so many empty lines before it that a traceback shows the line of the page
            code = compile("\n" * block.line + block.text, name, "exec", dont_inherit=True)
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(code, namespace)
            printed, count = out.getvalue(), count + 1
    return count


def command_of(text):
    """What a console block says that a command prints, and what it prints."""
    command, _, said = text.partition("\n")
    while command.endswith("\\"):
        more, _, said = said.partition("\n")
        command = command[:-1] + more
    dollar, name, *arguments = shlex.split(command)
    assert (dollar, name) == ("$", "askwise"), f"expected $ askwise …, got {command}"
    return said, cli_reference.printed(*arguments)


def name_of(path):
    return path.relative_to(ROOT).as_posix()


@pytest.fixture
def sandbox(tmp_path, monkeypatch):
    """Files are written elsewhere, and a learner added to the registry is taken out again.

    Servers that a page starts need no warm-up: what it would compile is in the cache already.
    """
    started = subprocess.Popen

    def popen(command, **how):
        return started([*command, *(["--no-warm-up"] if "serve" in command else [])], **how)

    monkeypatch.setattr(subprocess, "Popen", popen)
    monkeypatch.chdir(tmp_path)
    before = dict(LEARNERS)
    yield
    LEARNERS.clear()
    LEARNERS.update(before)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
@pytest.mark.usefixtures("sandbox")
def test_the_code_of_a_page_runs_as_printed(page):
    count = run_page(page.read_text(encoding="utf-8"), str(page))
    assert count > 0 or name_of(page) not in MUST_HAVE_CODE


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("```python\nprint(1)\n```\n<!-- output -->\n```text\n2\n```", "printed was"),
        ("```text\n2\n```\n<!-- output -->\n```text\n2\n```", "output of no Python block"),
        ("```python\nprint(1)\n```\n<!-- output -->\nwords", "without a block behind it"),
        ("```python\nprint(1)\n```\n<!-- output -->", "without a block behind it"),
        ("```python\nprint(1)\n```\n<!-- output -->\n```sh\n1\n```", "must be a text block"),
        ("```python\nassert False, 'reached'\n```", "reached"),
        ("- so:\n  ```python\n  print(1)\n  ```", "an indented block"),
        ("```python\nprint(1)", "a block that does not end"),
    ],
)
def test_a_page_can_fail(page, message):
    with pytest.raises(AssertionError, match=re.escape(message)):
        run_page(page, "page.md")


def test_blocks_of_a_page_share_their_names():
    page = "```python\nx = 1\n```\n```python\nprint(x)\n```\n\n<!-- output -->\n```text\n1\n```\n"
    assert run_page(page, "page.md") == 2


@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
def test_an_example_runs(example, tmp_path):
    result = subprocess.run(
        [sys.executable, str(example)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout


def test_the_readme_is_the_quickstart_with_its_picture():
    source = (ROOT / "examples" / "quickstart.py").read_text(encoding="utf-8")
    assert source.partition('"""\n\n')[2] in (ROOT / "README.md").read_text(encoding="utf-8")
    names = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(source, "quickstart.py", "exec"), names)
    drawn = (ROOT / "docs" / "quickstart.svg").read_text(encoding="utf-8")
    assert drawn == names["learner"].recommend().tree().svg()


def resolve(dotted):
    """The module, class, function or attribute of that name; raises if there is none."""
    first, *rest = dotted.split(".")
    thing = importlib.import_module(first)
    for part in rest:
        if inspect.ismodule(thing) and not hasattr(thing, part):
            importlib.import_module(f"{thing.__name__}.{part}")
        if inspect.isclass(thing) and part in attributes_of(thing):
            return None
        thing = getattr(thing, part)
    return thing


def attributes_of(kind):
    """What the instances of a class get when they are made."""
    source = "".join(inspect.getsource(c) for c in kind.__mro__ if c.__module__ != "builtins")
    return set(re.findall(r"^        self\.(\w+)(?:: [^=]+)? = ", source, re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_what_a_page_names_exists(page):
    text = page.read_text(encoding="utf-8")
    for dotted in re.findall(r"`(askwise(?:\.\w+)+)", text):
        resolve(dotted)
    for file, test in re.findall(r"`(tests/\w+\.py)(?:::(\w+))?`", text):
        source = (ROOT / file).read_text(encoding="utf-8")
        assert not test or f"def {test}(" in source, f"{file} has no {test}"
    for link in re.findall(r"\]\(([^)#:\s]+)\)", text):
        there = page.parent / link
        assert there.exists(), f"{link} does not exist"
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"(?:`|^)make ([a-z]+)", text, re.MULTILINE):
        assert f"\n{target}:" in makefile, f"the Makefile has no {target}"


FITTED = re.compile(r"^\W*askwise fit (\S+)", re.MULTILINE)
SCORED = re.compile(r"^\W*askwise (?:evaluate|compare) (\S+)", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_page_scores_a_policy_on_the_log_that_it_was_fitted_to(page):
    """What was chosen on some rows gains too much on them."""
    text = page.read_text()
    assert not set(FITTED.findall(text)) & set(SCORED.findall(text))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_has_no_marks_of_a_merge(page):
    assert not re.search(r"^(<{7}|>{7})( |$)", page.read_text(encoding="utf-8"), re.MULTILINE)


def headings_of(page):
    """The anchors of a page, as the site makes them of its headings."""
    text = re.sub(
        r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    plain = [
        unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode() for title in titles
    ]
    return {
        re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()) for title in plain
    }


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_anchors_a_page_links_to_exist(page):
    for file, anchor in re.findall(
        r"\]\(([^)#:\s]*)#([^)\s]+)\)", page.read_text(encoding="utf-8")
    ):
        there = page.parent / file if file else page
        assert anchor in headings_of(there), f"{file}#{anchor}"


def test_an_anchor_is_made_of_a_heading(tmp_path):
    (tmp_path / "page.md").write_text("# A `name`, and β!\n```sh\n# none\n```\n", encoding="utf-8")
    assert headings_of(tmp_path / "page.md") == {"a-name-and"}


def test_the_site_has_every_page_and_fetches_nothing():
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    parts = [part for entry in site["nav"] for part in entry.values()]
    listed = [part for part in parts if isinstance(part, str)]
    for part in parts:
        if not isinstance(part, str):
            listed += [page for entry in part for page in entry.values()]
    assert sorted(listed) == sorted(path.name for path in ROOT.glob("docs/*.md"))
    assert [next(iter(entry)) for entry in site["nav"]][1:] == [
        "Tutorial",
        "How to",
        "Explanation",
        "Reference",
    ]
    assert site["theme"]["font"] is False
    assert "search" in site["plugins"]
    for sheet in site["extra_css"]:
        assert "http" not in (ROOT / "docs" / sheet).read_text(encoding="utf-8")
    for page in ROOT.glob("docs/*.md"):
        assert not re.search(r"!\[[^\]]*\]\(https?:", page.read_text(encoding="utf-8")), page.name


def test_names_that_do_not_exist_are_found_out():
    for dotted in (
        "askwise.nothing",
        "askwise.states.lattice.Lattice.nothing",
        "askwise.policy.oracle.nothing",
    ):
        with pytest.raises((AttributeError, ImportError)):
            resolve(dotted)


def test_the_architecture_names_every_room():
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    for path in (ROOT / "src" / "askwise").iterdir():
        if path.suffix == ".py" or (path / "__init__.py").exists():
            assert path.stem == "__init__" or f"`{path.stem}`" in page, path.stem
