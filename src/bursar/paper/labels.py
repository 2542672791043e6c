"""What policies are called on pages and in figures, and how their lines are drawn.

A policy has its own title; parameters come from the slug. A policy that no table knows is called
by its slug and drawn in grey, so a new policy needs no line here. The module imports no plotting
code, so the command line can use it without the extra ``paper``.
"""

from collections.abc import Sequence
from fractions import Fraction

from bursar.errors import BursarError
from bursar.policies import policy as policy_of

RECOMMENDED = "omega-star-ucb:rho=0.25"  # by the paper
OWN = "pooled-gittins"  # bursar's own policy, compared with the paper's best

# Okabe and Ito's palette, which readers with any kind of colour vision can tell apart. Warm colours
# are ω*-UCB, cool ones ω-UCB; these five look the same in every figure.
_FIXED = {
    RECOMMENDED: "#D55E00",
    "omega-star-ucb:rho=1": "#E69F00",
    "omega-ucb:rho=0.25": "#0072B2",
    "omega-ucb:rho=1": "#56B4E9",
    OWN: "#CC79A7",
}
_OMEGA_COLOURS = ("#009E73", "#CC79A7", "#D55E00", "#E69F00", "#0072B2", "#56B4E9")
GREYS = ("#444444", "#6f6f6f", "#8c8c8c", "#a6a6a6")
_DASHES = ("-", "--", ":", "-.")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "*")


def format_label(slug: str) -> str:
    """Return a policy's name for a legend or a table, with the parameters that its slug names.

    >>> format_label("omega-star-ucb:rho=0.25"), format_label("m-ucb")
    ('ω*-UCB, ρ = 1/4', 'm-UCB')
    """
    name, params = _parse(slug)
    return ", ".join([name, *(f"{key} = {value}" for key, value in params)])


def format_short_label(slug: str) -> str:
    """Return a policy's name for a narrow place, its ρ in brackets.

    >>> format_short_label("omega-star-ucb:rho=0.25"), format_short_label("eps-first:eps=0.2")
    ('ω*-UCB (1/4)', 'ε-first (eps 0.2)')
    """
    name, params = _parse(slug)
    inside = ", ".join(value if key == "ρ" else f"{key} {value}" for key, value in params)
    return f"{name} ({inside})" if inside else name


def format_sentence_label(slug: str) -> str:
    """Return a policy's name as it is written within a sentence.

    >>> format_sentence_label("omega-star-ucb:rho=0.25"), format_sentence_label("bts")
    ('ω*-UCB (ρ = 1/4)', 'BTS')
    """
    name, comma, params = format_label(slug).partition(", ")
    return f"{name} ({params})" if comma else name


def is_omega(slug: str) -> bool:
    """Whether a policy belongs to the ω family."""
    return slug.startswith(("omega", "sw-omega", "d-omega"))


def is_coloured(slug: str) -> bool:
    """Whether a policy is drawn in colour: the ω family and bursar's own policy are."""
    return is_omega(slug) or slug in _FIXED


def main_policies(slugs: Sequence[str]) -> tuple[str, ...]:
    """Return all policies, of the ω family only those of the paper's figures: rho = 1/4 and 1."""
    return tuple(
        s for s in slugs if not s.startswith("omega") or s.endswith((":rho=0.25", ":rho=1"))
    )


def line_styles(slugs: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return the colour and the dashes of each policy's line."""
    styles = {slug: (_FIXED[slug], "-") for slug in slugs if slug in _FIXED}
    omegas = [slug for slug in slugs if is_omega(slug) and slug not in styles]
    others = [slug for slug in slugs if not is_coloured(slug)]
    for i, slug in enumerate(omegas):
        styles[slug] = (_OMEGA_COLOURS[i % 6], _DASHES[(i + 1) // 2 % 4])
    for i, slug in enumerate(others):
        styles[slug] = (GREYS[i % 4], _DASHES[(i + 1 + i // 4) % 4])
    return styles


def line_markers(slugs: Sequence[str]) -> dict[str, str]:
    """Return a marker for each grey policy, because four greys alone look too much alike."""
    others = [slug for slug in slugs if not is_coloured(slug)]
    markers = {slug: _MARKERS[i % len(_MARKERS)] for i, slug in enumerate(others)}
    return dict.fromkeys(slugs, "") | markers


def family_colour(slug: str) -> str:
    """Return one colour for all of ω*-UCB, one for the rest of the ω family, grey for others."""
    if not is_omega(slug):
        return _FIXED.get(slug, GREYS[1])
    return _FIXED[RECOMMENDED if slug.startswith("omega-star") else "omega-ucb:rho=0.25"]


def format_fraction(value: float | str) -> str:
    """Return a number as a fraction if its denominator is a power of two, at most 64.

    >>> format_fraction(0.25), format_fraction("2"), format_fraction(0.3)
    ('1/4', '2', '0.3')
    """
    try:
        exact = Fraction(value)
    except ValueError:
        return str(value)
    return str(exact) if exact.denominator in (1, 2, 4, 8, 16, 32, 64) else str(value)


def _parse(slug: str) -> tuple[str, list[tuple[str, str]]]:
    """Return a policy's title and the parameters that its slug names."""
    name, _, rest = slug.partition(":")
    pairs = [part.partition("=")[::2] for part in rest.split(",") if part]
    params = [("ρ" if key == "rho" else key, format_fraction(value)) for key, value in pairs]
    try:
        return policy_of(slug).title, params
    except BursarError:  # a user's own policy
        return name, params
