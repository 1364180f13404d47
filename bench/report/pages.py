"""Turns the content of a report into Markdown and HTML through the templates beside it.

The pull-request comment, which has limits of its own, is in `bench.report.comment`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from bench.report.content import Content, Picture, Table
from bench.report.text import escape_markdown
from bench.units import SIGN_RULE

RULES = {"left": ":--", "right": "--:"}


def render_markdown(content: Content) -> str:
    """`report.md`: figures by relative path, every string from the run escaped."""
    return fill("report.md.jinja", {"content": content})


def render_html(content: Content) -> str:
    """`report.html`: one file that needs nothing else, every string from the run escaped, figures inside as SVG."""
    return fill("report.html.jinja", {"content": content})


def fill(template: str, values: Mapping[str, Any]) -> str:
    """A template of this package with `values`; what it does not know is an error."""
    environment = Environment(
        loader=PackageLoader("bench.report"),
        autoescape=template.endswith(".html.jinja"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update({"md": escape_markdown, "md_table": markdown_table, "inline_svg": inline_svg})
    return environment.get_template(template).render(sign_rule=SIGN_RULE, **values).rstrip() + "\n"


def markdown_table(table: Table) -> str:
    """`table` in GitHub's Markdown, cells escaped."""
    lines = [table.headers, tuple(RULES[align] for align in table.aligned)]
    escaped = [tuple(escape_markdown(cell) for cell in row) for row in table.rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in (*lines, *escaped))


def inline_svg(picture: Picture) -> Markup:
    """A figure as part of a page: no XML declaration, its own ids, and a description for screen readers."""
    svg = picture.svg[picture.svg.index("<svg") :]
    svg = re.sub(r'\bid="|url\(#|href="#', lambda start: f"{start[0]}{picture.name}-", svg)
    label = Markup.escape(picture.caption)
    return Markup(svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1))  # matplotlib escaped its texts
