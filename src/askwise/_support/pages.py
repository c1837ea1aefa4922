"""Renders pages that need no other file and no network, with one style."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from askwise._support.extras import need


def page(name: str, **values: Any) -> str:
    """Fill in a template of the package. Texts are escaped, unless `safe` marks them as HTML."""
    jinja2 = need("jinja2", "report")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(values.pop("filters", {}))
    template = environment.from_string(_part(f"{name}.html"))
    return str(template.render(css=safe(_part("page.css")), **values))


def safe(html: str) -> Any:
    """Mark a text as HTML, so that it is not escaped."""
    return need("markupsafe", "report").Markup(html)


def _part(name: str) -> str:
    return files("askwise._support").joinpath(f"templates/{name}").read_text(encoding="utf-8")
