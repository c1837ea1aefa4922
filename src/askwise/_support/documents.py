"""Reads YAML and JSON files strictly into typed values, and writes files whole or not at all.

Errors are a key given twice, an unknown key, a number where a text belongs, or NaN. Each error
names the file, the line, the key and what was expected.
"""

import difflib
import errno
import json
import os
import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from askwise._support.numbers import remedy_for
from askwise.errors import FileError

T = TypeVar("T")

_AT = re.compile(r" - at (?P<key>`key` in )?`\$(?P<path>[^`]*)`$")


def prepare(*kinds: Any) -> None:
    """Let msgspec prepare its decoders for these types now.

    By default it prepares a decoder when a value is first read. If two threads do so at the same
    moment, one uses the half-finished decoder of the other, and the process crashes.
    """
    for kind in kinds:
        msgspec.json.Decoder(kind)


def read_document(path: str | os.PathLike[str], kind: type[T]) -> T:
    """Read a value of type `kind` from a file; the suffix tells YAML from JSON."""
    path = Path(path)
    parse = _format(path)[0]
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise FileError(
            f"{path}: not UTF-8 text ({error.reason} at byte {error.start}): save it as UTF-8"
        ) from None
    data = parse(path, text)
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        message = str(error)
        at = _AT.search(message)
        where = at["path"] if at else ""
        what = message[: at.start()] if at else message
        if what.endswith("got `bool`"):
            what += " (a text such as yes or no needs quotes)"
        if what.startswith("Expected `float") and what.endswith("got `str`"):
            found = _found(data, where)
            what = f"expected a number, got the text {found!r}{remedy_for(found)}"
        if at and at["key"]:
            odd = next(iter(k for k in _found(data, where) if not isinstance(k, str)), None)
            what = f"key {odd!r} is no text; where a comma made it one, 2,5 is written 2.5"
        if unknown := _UNKNOWN.fullmatch(what):
            what = _unknown(unknown["key"], _keys(kind, where))
        key = where.lstrip(".") or "the document"
        place = where + _offender(what, _found(data, where))
        raise FileError(f"{path}{_line(text, place)}: {key}: {what}") from None


def write_document(path: str | os.PathLike[str], value: object) -> None:
    """Write `value` in the format that the suffix of the file names."""
    path = Path(path)
    text = _format(path)[1](msgspec.to_builtins(value))
    replace_file(path, text.encode())


def replace_file(path: Path, content: bytes) -> None:
    """Write `content` to `path`. A crash leaves the old file or the new one, never a part."""
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(path.parent))
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)  # mkstemp makes it private
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


Parse = Callable[[Path, str], Any]
Render = Callable[[Any], str]


def _format(path: Path) -> tuple[Parse, Render]:
    formats: dict[str, tuple[Parse, Render]] = {
        ".json": (_parse_json, lambda data: json.dumps(data, indent=2, ensure_ascii=False) + "\n"),
        ".yaml": (_parse_yaml, _render_yaml),
        ".yml": (_parse_yaml, _render_yaml),
    }
    if path.suffix.lower() not in formats:
        raise FileError(f"{path}: expected a name ending in .yaml, .yml or .json")
    return formats[path.suffix.lower()]


def _parse_json(path: Path, text: str) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        seen: dict[str, Any] = {}
        for key, value in pairs:
            if key in seen:
                raise FileError(f"{path}: key {key!r} is given twice")
            seen[key] = value
        return seen

    def constant(word: str) -> float:
        raise FileError(f"{path}: {word} is not a number in JSON, expected a finite one")

    try:
        return json.loads(text, object_pairs_hook=unique, parse_constant=constant)
    except json.JSONDecodeError as error:
        raise FileError(f"{path}, line {error.lineno}: not JSON: {error.msg}") from None
    except RecursionError:
        raise FileError(f"{path}: it is nested too deeply") from None


def _parse_yaml(path: Path, text: str) -> Any:
    import yaml

    class UniqueKeys(yaml.SafeLoader):
        """Refuses a key that is given twice; PyYAML would keep the last one."""

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> Any:
            seen = set()
            for key, _ in node.value:
                if key.value in seen:
                    line = key.start_mark.line + 1
                    raise FileError(f"{path}, line {line}: key {key.value!r} is given twice")
                seen.add(key.value)
            return super().construct_mapping(node, deep)

    try:
        return yaml.load(text, UniqueKeys)  # noqa: S506 (a SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise FileError(f"{path}{line}: not YAML: {error.problem}") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{path}: not YAML: {error}") from None


def _render_yaml(data: Any) -> str:
    import yaml

    return str(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, default_flow_style=None))


_UNKNOWN = re.compile(r"Object contains unknown field `(?P<key>[^`]*)`")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")


def _found(data: Any, where: str) -> Any:
    """The value at a path such as `.observations[1].cost`."""
    for key, index in _STEP.findall(where):
        data = data[key] if key else data[int(index)]
    return data


def _unknown(key: str, keys: Sequence[str]) -> str:
    """The message for a key that is not declared: the nearest one, or all there are."""
    near = difflib.get_close_matches(key, keys, n=1)
    expected = f"did you mean {near[0]!r}?" if near else f"expected one of: {', '.join(keys)}"
    return f"unknown key {key!r}, {expected}"


def _keys(kind: Any, where: str) -> list[str]:
    """The keys of the object at a path, by the type of the document."""
    found = [msgspec.inspect.type_info(kind)]
    for key, _ in _STEP.findall(where):
        if key:
            fields = [f for one in found for f in getattr(one, "fields", ()) if f.name == key]
            found = [field.type for field in fields]
        else:
            items = [getattr(one, "item_type", None) for one in found]
            found = [one for one in items if one is not None]
        found = [part for one in found for part in getattr(one, "types", (one,))]
    return [field.encode_name for one in found for field in getattr(one, "fields", ())]


def _offender(what: str, found: Any) -> str:
    """`.key` if a message about a mapping begins with, or quotes first, one of its keys."""
    named = re.match(r"(?:unknown key ')?(\w+)", what)
    is_key = named is not None and isinstance(found, dict) and named[1] in found
    return f".{named[1]}" if named is not None and is_key else ""


def _line(text: str, where: str) -> str:
    """`, line 7` for a path such as `.observations[1].cost`, or for the part of it that exists."""
    import yaml

    try:
        node = yaml.compose(text, yaml.SafeLoader)  # JSON is close enough to YAML to find lines
    except yaml.YAMLError:
        return ""
    if node is None:
        return ""
    line = node.start_mark.line
    for key, index in _STEP.findall(where):
        if key and isinstance(node, yaml.MappingNode):
            found = [(k, v) for k, v in node.value if k.value == key]
            if not found:
                break
            line, node = found[0][0].start_mark.line, found[0][1]
        elif index and isinstance(node, yaml.SequenceNode) and int(index) < len(node.value):
            node = node.value[int(index)]
            line = node.start_mark.line
        else:
            break
    return f", line {line + 1}"
