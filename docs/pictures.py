"""The pictures of README and docs: ``python docs/pictures.py`` (part of ``make docs``)."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt

import bursar

IMAGES = Path(__file__).parent / "images"
STYLE = {
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "figure.constrained_layout.use": True,
    "svg.hashsalt": "bursar",
}
BLUE, VERMILION, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#8c8c8c"  # colour-blind safe
SHOWN = {
    "omega-star-ucb:rho=0.25": ("ω*-UCB, ρ = 1/4", BLUE, 2.5, "top"),
    "omega-ucb:rho=1": ("ω-UCB, ρ = 1", GREEN, 2.0, "bottom"),
    "bts": ("BTS", VERMILION, 2.0, "center"),
    "ucb-sc-plus": ("UCB-SC+", GREY, 1.5, "center"),
    "b-greedy": ("b-greedy", GREY, 1.5, "center"),
    "uniform": ("uniform random", GREY, 1.5, "center"),
}
GAMES = 50


def regret() -> None:
    """Mean regret over the share of the budget that is spent, the problem of ``bursar demo``."""
    problem = bursar.Bernoulli.random(10, seed=0, cost_low=0.01)
    budget = 10_000 * problem.min_cost
    shares = np.linspace(0.0, 1.0, 201)
    figure, axes = plt.subplots(figsize=(8, 4.5))
    for slug, (label, colour, width, side) in SHOWN.items():
        curves = []
        for seed in range(GAMES):
            choices = bursar.play(slug, problem, budget, seed=seed, record=True).choices
            lost = np.cumsum(problem.regret[choices])
            spent = np.cumsum(problem.cost[choices])  # on average; the game's own spend is lumpy
            curves.append(np.interp(shares * spent[-1], spent, lost))
        mean = np.mean(curves, axis=0)
        axes.plot(shares, mean, color=colour, linewidth=width)
        axes.annotate(f" {label}", (1.0, mean[-1]), color=colour, va=side, annotation_clip=False)
    axes.set(
        xlabel="share of the budget that is spent",
        ylabel="reward lost against the best arm",
        xlim=(0, 1),
        ylim=(0, None),
        title=f"Ten arms, one budget: what learning costs (mean of {GAMES} games)",
    )
    axes.xaxis.set_major_formatter(mpl.ticker.PercentFormatter(1.0))
    figure.savefig(IMAGES / "regret.png", dpi=150)
    plt.close(figure)


def interval() -> None:
    """Theorem 1's interval against the symmetric one, over the sample mean."""
    z, n = 1.96, 20
    mean = np.linspace(0.0, 1.0, 401)
    lower, upper = bursar.interval(mean, n, z)
    half = np.sqrt(np.log(2 / 0.05) / (2 * n))
    figure, axes = plt.subplots(figsize=(8, 4.5))
    axes.fill_between(mean, mean - half, mean + half, color=GREY, alpha=0.25, linewidth=0)
    axes.fill_between(mean, lower, upper, color=BLUE, alpha=0.35, linewidth=0)
    axes.plot(mean, mean, color="black", linewidth=1)
    axes.axhline(0, color="black", linewidth=0.8)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.text(0.52, 0.53, "sample mean", rotation=22.5, rotation_mode="anchor", va="bottom")
    axes.annotate(
        "Theorem 1: shifted inwards,\nnever leaves the range",
        (0.12, 0.31),
        (0.03, 0.72),
        color=BLUE,
        arrowprops={"arrowstyle": "-", "color": BLUE},
    )
    axes.annotate(
        "Hoeffding: the same width everywhere,\nup to costs below 0",
        (0.2, -0.08),
        (0.4, -0.24),
        color="#555555",
        arrowprops={"arrowstyle": "-", "color": "#555555"},
    )
    axes.set(
        xlabel="mean of 20 samples in [0, 1]",
        ylabel="95% interval of the expected value",
        xlim=(0, 1),
        ylim=(-0.35, 1.35),
        title="Why the interval is asymmetric",
    )
    figure.savefig(IMAGES / "interval.png", dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    with mpl.rc_context(STYLE):
        regret()
        interval()
