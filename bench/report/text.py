"""Words and names made fit for a place: printable, short enough, and unable to act as markup.

Numbers belong to `bench.units`.
"""

from __future__ import annotations

import re

MARKDOWN_ACTIVE = re.compile(r"[\\`*_<>&|~#$]|\](?=[(\[:])")  # a bracket acts only where a link would follow it
NAME_LENGTH = 80  # longest name that is shown whole
LINE_LENGTH = 400  # longest message that is shown whole


def printable(text: str, limit: int = NAME_LENGTH) -> str:
    """`text` on one line without control or formatting characters, shortened in the middle to `limit` characters."""
    visible = "".join(character if character.isprintable() else " " for character in text[: 8 * limit])
    return clip(" ".join(visible.split()), limit)


def clip(text: str, width: int) -> str:
    """`text` in at most `width` characters; what is cut is the middle, because names differ at their ends."""
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"


def escape_markdown(text: str, limit: int = LINE_LENGTH) -> str:
    """`text` as GitHub's Markdown shows it literally, in a table cell too: no markup, link, mention or HTML."""
    escaped = MARKDOWN_ACTIVE.sub(r"\\\g<0>", printable(text, limit)).replace("://", ":\\//")
    escaped = re.sub(r"(www)\.", r"\1\\.", escaped, flags=re.IGNORECASE)
    return escaped.replace("@", "@\N{ZERO WIDTH SPACE}")  # an escaped @ would still notify somebody


def slug(text: str) -> str:
    """`text` as part of a file name: letters, digits, dot, dash and underscore, at most 100 of them."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip(".-")[:100] or "unnamed"


def names(wanted: list[str]) -> list[str]:
    """A file name for each, numbered where two would be the same."""
    made: list[str] = []
    taken: set[str] = set()
    for name in map(slug, wanted):
        number, unique = 2, name
        while unique.lower() in taken:
            number, unique = number + 1, f"{name}-{number}"
        taken.add(unique.lower())
        made.append(unique)
    return made


def listed(items: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}" if items else ""
