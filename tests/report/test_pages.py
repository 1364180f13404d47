from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from bench.report.content import Content, Facts, Link, Picture, Section, Table
from bench.report.pages import inline_svg, relative_url, render_html, render_markdown
from bench.units import SIGN_RULE

HOSTILE = '<script>alert("x")</script>|**@all** [a](javascript:b)'


class Elements(HTMLParser):
    """Counts elements and checks that they are closed in order."""

    VOID = frozenset({"meta", "br", "link"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture
def hostile(content: Content) -> Content:
    line = replace(content.verdicts[0], cell=HOSTILE, candidate=HOSTILE, reason=HOSTILE)
    table = Table((HOSTILE,), ((HOSTILE,),), ("left",), HOSTILE)
    picture = Picture("effects", HOSTILE, '<svg id="a"><use xlink:href="#a"/></svg>')
    link = Link(HOSTILE, HOSTILE)
    cell = replace(
        content.cells[0],
        workload=HOSTILE,
        tier=HOSTILE,
        line=line,
        tables=(table,),
        pictures=(replace(picture, name="cell"),),
        raw=(link,),
        raw_by_pair=(link,),
    )
    return replace(
        content,
        title=HOSTILE,
        subtitle=HOSTILE,
        warning=HOSTILE,
        headlines=(HOSTILE,),
        notes=(HOSTILE,),
        verdicts=(line,),
        cells=(cell,),
        facts=Facts(HOSTILE, (HOSTILE,), ((HOSTILE, HOSTILE),)),
        sections=(Section("Title", (HOSTILE,), (replace(table, headers=("x",)),), (picture,)),),
    )


def test_verdicts_stand_before_everything_else(content: Content) -> None:
    for page in (render_markdown(content), render_html(content)):
        assert (
            page.index("VOID: 1 of 9") < page.index("dict vs list") < page.index("EQUIVALENT") < page.index("Effects")
        )


def test_every_table_of_effects_states_the_sign_rule(content: Content) -> None:
    effects = ("effect", "difference", "shift", "exact", "result")
    tables = [table for section in content.sections for table in section.tables]
    tables += [table for cell in content.cells for table in cell.tables if table.rows]
    with_effects = [table for table in tables if any(header in effects for header in table.headers)]
    assert len(with_effects) > 4 + 2 * len(content.cells)
    assert all(SIGN_RULE in table.note for table in with_effects)
    for page in (render_markdown(content), render_html(content)):
        assert page.index(SIGN_RULE) < page.index("Effects")


def test_markdown_names_its_plots_by_relative_path(content: Content) -> None:
    assert "](plots/effects.png)" in render_markdown(content)
    assert not re.search(r"\]\((/|http)", render_markdown(content))


def test_markdown_tables_have_as_many_cells_as_headers(content: Content) -> None:
    for block in re.findall(r"(?:^\|.*\n)+", render_markdown(content), re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1


def test_hostile_names_stay_text_in_markdown(hostile: Content) -> None:
    page = render_markdown(hostile)
    assert "<script" not in page.replace(r"\<script", "")
    assert not re.search(r"(?<!\\)\]\(javascript", page)
    assert "@all" not in page


def test_hostile_names_stay_text_in_html(hostile: Content) -> None:
    page = render_html(hostile)
    elements = Elements(page)
    assert [tag for tag, _ in elements.seen].count("script") == 1
    assert page.count("&lt;script&gt;") >= 10
    links = [attributes["href"] for tag, attributes in elements.seen if tag == "a"]
    assert all(link and link.startswith(("./", "#")) for link in links)


@pytest.mark.parametrize(
    ("path", "link"),
    [
        ("pairs/a--p000.parquet", "./pairs/a--p000.parquet"),
        ("javascript:alert(1)", "./javascript%3Aalert%281%29"),
        ("//evil.example/x", "./evil.example/x"),
        ("a b#c?d%", "./a%20b%23c%3Fd%25"),
    ],
)
def test_link_never_leaves_the_folder(path: str, link: str) -> None:
    assert relative_url(path) == link


def test_html_is_well_formed_and_needs_nothing_from_elsewhere(content: Content) -> None:
    elements = Elements(render_html(content))
    assert elements.open == []
    assert not {tag for tag, _ in elements.seen} & {"link", "img", "iframe", "object"}
    for _, attributes in elements.seen:
        assert not {name for name in attributes if name.startswith("on")} - {"on"}
        for name in ("href", "xlink:href", "src"):
            assert (attributes.get(name) or "#").startswith(("#", "./"))


def test_only_script_is_the_page_s_own_and_named_in_its_policy(content: Content) -> None:
    page = render_html(content)
    scripts = re.findall(r"<script[^>]*>(.*?)</script>", page, re.DOTALL)
    assert len(scripts) == 1
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}';" in page


def test_filters_offer_what_occurs_sizes_by_number(content: Content) -> None:
    page = render_html(content)
    offered = {
        name: re.findall(r"<option>([^<]*)</option>", options)
        for name, options in re.findall(r'<select name="(\w+)">(.*?)</select>', page)
    }
    assert offered == {
        "workload": ["steady-decode", "abort-storm", "preemption", "finish-wave"],
        "tier": ["replay", "engine"],
        "n": ["256", "1024"],
    }


def test_every_comparison_has_a_row_a_card_and_a_cell_that_links_reach(content: Content) -> None:
    elements = Elements(render_html(content))
    ids = {attributes["id"] for _, attributes in elements.seen if "id" in attributes}
    links = [(attributes.get("href") or "")[1:] for tag, attributes in elements.seen if tag == "a"]
    for cell in content.cells:
        assert cell.anchor in ids
        assert links.count(cell.anchor) == 2
    filtered = [tag for tag, attributes in elements.seen if "data-tier" in attributes]
    assert {tag: filtered.count(tag) for tag in set(filtered)} == dict.fromkeys(
        ("tr", "div", "details"), len(content.cells)
    )


def test_html_fits_phones_and_dark_rooms(content: Content) -> None:
    page = render_html(content)
    assert 'name="viewport" content="width=device-width' in page
    assert "prefers-color-scheme: dark" in page
    assert page.count('<div class="scroll">') == page.count("<table") + page.count("<svg")


def test_every_figure_has_its_own_ids_and_a_description(content: Content) -> None:
    elements = Elements(render_html(content))
    ids = [attributes["id"] for _, attributes in elements.seen if "id" in attributes]
    assert len(ids) == len(set(ids))
    pictures = [attributes for tag, attributes in elements.seen if tag == "svg"]
    assert len(pictures) == sum(len(part.pictures) for part in (*content.sections, *content.cells))
    assert all(attributes["role"] == "img" and attributes["aria-label"] for attributes in pictures)


def test_references_inside_a_figure_follow_their_ids() -> None:
    svg = '<?xml version="1.0"?>\n<svg><g id="m"/><use xlink:href="#m"/><g clip-path="url(#m)"/></svg>'
    assert inline_svg(Picture("p", "c", svg)) == (
        '<svg role="img" aria-label="c"><g id="p-m"/><use xlink:href="#p-m"/><g clip-path="url(#p-m)"/></svg>'
    )
