"""What policies are called and how they are coloured where they are drawn; nowhere else."""

from __future__ import annotations

from fractions import Fraction

from bursar.policies import policy as policy_of

__all__ = ["GREY", "colours", "label"]

# Okabe-Ito: told apart by people with any kind of colour vision
_OURS = ("#0072B2", "#56B4E9", "#009E73", "#D55E00", "#CC79A7", "#E69F00")
GREY = ("#444444", "#6f6f6f", "#8c8c8c", "#a6a6a6")
_DASHES = ("-", "--", ":", "-.")


def label(slug: str) -> str:
    """Return a policy's name for a legend, with the parameters that its slug names.

    >>> label("omega-star-ucb:rho=0.25"), label("m-ucb")
    ('ω*-UCB, ρ = 1/4', 'm-UCB')
    """
    policy = policy_of(slug)
    shown = [part.split("=") for part in slug.partition(":")[2].split(",") if part]
    words = [f"{'ρ' if key == 'rho' else key} = {_fraction(value)}" for key, value in shown]
    return ", ".join([policy.title, *words])


def colours(slugs: tuple[str, ...]) -> dict[str, tuple[str, str]]:
    """Return colour and line style of each policy: the ω family in colour, all others in grey."""
    ours = [slug for slug in slugs if slug.startswith("omega")]
    others = [slug for slug in slugs if slug not in ours]
    styles = {slug: (_OURS[i % 6], _DASHES[i // 6 % 4]) for i, slug in enumerate(ours)}
    return styles | {s: (GREY[i % 4], _DASHES[(i + 1 + i // 4) % 4]) for i, s in enumerate(others)}


def _fraction(text: str) -> str:
    try:
        value = Fraction(text)
    except ValueError:
        return text
    return str(value) if value.denominator in (1, 2, 4, 8, 16, 32, 64) else text
