"""What mkdocs fills in: the table of policies comes from the table in the code."""

from __future__ import annotations

from typing import Any

from bursar.policies import POLICIES

MARK = "<!-- policies -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the table in the place of its mark."""
    return markdown.replace(MARK, policies())


def policies() -> str:
    """Return a section for every policy: source, parameters, formula."""
    rows = ["| slug | name | year | needs to know | parameters |", "|---|---|---|---|---|"]
    sections = []
    for slug, cls in POLICIES.items():
        settings = ", ".join(f"`{k}={_shown(v)}`" for k, (_, v) in cls().params().items())
        needs = ", ".join(cls.needs) or "nothing"
        rows.append(
            f"| [`{slug}`](#{slug}) | {cls.title} | {cls.year or ''} | {needs} | {settings} |"
        )
        about = (cls.__doc__ or "").split("\n\n")[0].replace("``", "`")
        sections.append(
            f"### {slug}\n\n**{cls.title}**. {about}\n\n"
            f"```text\n{cls.formula}\n```\n\n{cls.source}."
        )
    return "\n".join(rows) + "\n\n" + "\n\n".join(sections)


def _shown(value: Any) -> str:
    return "–" if value is None else str(value)
