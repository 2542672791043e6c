"""What policies are called and how they are coloured where they are drawn; nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from bursar.errors import UnknownPolicy
from bursar.policies import policy as policy_of

__all__ = [
    "GREY", "RECOMMENDED", "colours", "family_colour", "fraction", "in_colour", "is_ours", "label",
    "markers", "short",
]  # fmt: skip

RECOMMENDED = "omega-star-ucb:rho=0.25"

# Okabe-Ito: told apart by people with any kind of colour vision; warm is ω*, cool is ω
_MAIN = {
    RECOMMENDED: "#D55E00",
    "omega-star-ucb:rho=1": "#E69F00",
    "omega-ucb:rho=0.25": "#0072B2",
    "omega-ucb:rho=1": "#56B4E9",
}
_OURS = ("#009E73", "#CC79A7", *_MAIN.values())
_NEW = {"pooled-gittins": "#CC79A7"}  # bursar's own
GREY = ("#444444", "#6f6f6f", "#8c8c8c", "#a6a6a6")
_DASHES = ("-", "--", ":", "-.")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "*")


def label(slug: str) -> str:
    """Return a policy's name for a legend, with the parameters that its slug names.

    >>> label("omega-star-ucb:rho=0.25"), label("m-ucb")
    ('ω*-UCB, ρ = 1/4', 'm-UCB')
    """
    name, words = _parts(slug)
    return ", ".join([name, *(f"{key} = {value}" for key, value in words)])


def short(slug: str) -> str:
    """Return a policy's name where there is little room, its ρ in brackets.

    >>> short("omega-star-ucb:rho=0.25"), short("m-ucb"), short("eps-first:eps=0.2")
    ('ω*-UCB (1/4)', 'm-UCB', 'ε-first (eps 0.2)')
    """
    name, words = _parts(slug)
    inside = ", ".join(value if key == "ρ" else f"{key} {value}" for key, value in words)
    return f"{name} ({inside})" if inside else name


def is_ours(slug: str) -> bool:
    """Whether a policy is of the ω family."""
    return slug.startswith(("omega", "sw-omega", "d-omega"))


def in_colour(slug: str) -> bool:
    """Whether a policy is drawn in colour: the ω family, and bursar's own."""
    return is_ours(slug) or slug in _NEW


def colours(slugs: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return colour and line style of each policy: ω's and bursar's own in colour, others in grey.

    The four policies that the paper shows and bursar's own have the same colour in every figure.
    """
    fixed = _MAIN | _NEW
    styles = {slug: (fixed[slug], "-") for slug in slugs if slug in fixed}
    ours = [slug for slug in slugs if is_ours(slug) and slug not in styles]
    others = [slug for slug in slugs if not in_colour(slug)]
    styles |= {slug: (_OURS[i % 6], _DASHES[(i + 1) // 2 % 4]) for i, slug in enumerate(ours)}
    return styles | {s: (GREY[i % 4], _DASHES[(i + 1 + i // 4) % 4]) for i, s in enumerate(others)}


def family_colour(slug: str) -> str:
    """Return one colour for all ω*-UCB, one for all other ω-UCB, and grey for most others."""
    if not is_ours(slug):
        return _NEW.get(slug, GREY[1])
    return _MAIN[RECOMMENDED] if slug.startswith("omega-star") else _MAIN["omega-ucb:rho=0.25"]


def markers(slugs: Sequence[str]) -> dict[str, str]:
    """Return a mark for each policy in grey, since four greys alone are not told apart."""
    others = [slug for slug in slugs if not in_colour(slug)]
    return dict.fromkeys(slugs, "") | {
        slug: _MARKERS[i % len(_MARKERS)] for i, slug in enumerate(others)
    }


def fraction(value: float | str) -> str:
    """Write a number as a fraction of a power of two if it is one.

    >>> fraction(0.25), fraction("2"), fraction(0.3)
    ('1/4', '2', '0.3')
    """
    try:
        exact = Fraction(value)
    except ValueError:
        return str(value)
    return str(exact) if exact.denominator in (1, 2, 4, 8, 16, 32, 64) else str(value)


def _parts(slug: str) -> tuple[str, list[tuple[str, str]]]:
    shown = [part.split("=") for part in slug.partition(":")[2].split(",") if part]
    words = [("ρ" if key == "rho" else key, fraction(value)) for key, value in shown]
    try:
        return policy_of(slug).title, words
    except UnknownPolicy:  # a user's own, which no table names
        return slug.partition(":")[0], words
