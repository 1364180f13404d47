"""Turns the content of a report into Markdown and HTML through the templates beside it.

The pull-request comment, which has limits of its own, is in `bench.report.comment`.
"""

from __future__ import annotations

import base64
import hashlib
import re
import urllib.parse
from collections.abc import Mapping
from importlib import resources
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
    """`report.html`: one file that needs nothing else, every string from the run escaped, figures inside as SVG.

    Its one script is named by digest in the page's own security policy: nothing that a run holds can run beside it.
    """
    script = resources.files("bench.report").joinpath("templates", "report.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    values = {"content": content, "script": Markup(script), "digest": digest, "choices": _choices(content)}
    return fill("report.html.jinja", values)


def _choices(content: Content) -> dict[str, list[str]]:
    """What the filters offer: the values of each that occur, in the order of the cells, sizes by number."""
    sizes = sorted({cell.num_running for cell in content.cells})
    return {
        "workload": list(dict.fromkeys(cell.workload for cell in content.cells)),
        "tier": list(dict.fromkeys(cell.tier for cell in content.cells)),
        "n": [str(size) for size in sizes],
    }


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
    environment.filters.update(
        {"md": escape_markdown, "md_table": markdown_table, "inline_svg": inline_svg, "url": relative_url}
    )
    return environment.get_template(template).render(sign_rule=SIGN_RULE, **values).rstrip() + "\n"


def markdown_table(table: Table) -> str:
    """`table` in GitHub's Markdown, cells escaped."""
    lines = [table.headers, tuple(RULES[align] for align in table.aligned)]
    escaped = [tuple(escape_markdown(cell) for cell in row) for row in table.rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in (*lines, *escaped))


def relative_url(path: str) -> str:
    """`path` inside the run folder as a link from a page in it: never a scheme, never another host."""
    return f"./{urllib.parse.quote(path.lstrip('/'))}"


def inline_svg(picture: Picture) -> Markup:
    """A figure as part of a page: no XML declaration, its own ids, and a description for screen readers."""
    svg = picture.svg[picture.svg.index("<svg") :]
    svg = re.sub(r'\bid="|url\(#|href="#', lambda start: f"{start[0]}{picture.name}-", svg)
    label = Markup.escape(picture.caption)
    return Markup(svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1))  # matplotlib escaped its texts
