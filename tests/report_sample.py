"""Small results and report data, made by hand so that every number in them is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bursar.paper.figures.draw import DrawnFigure
from bursar.paper.report import ReportData
from bursar.simulation.result import Result

OURS, BTS, RANDOM = "omega-star-ucb:rho=0.25", "bts", "uniform"
# final regret by setting and policy, of each repetition; 1,000 is possible in every game
REGRET = {
    ("S-Br-10", OURS): [10.0, 14.0, 12.0, 16.0, 11.0, 15.0, 13.0, 13.0],
    ("S-Br-10", BTS): [31.0, 35.0, 30.0, 36.0, 33.0, 33.0, 32.0, 34.0],
    ("S-Br-10", RANDOM): [710.0] * 8,
    ("S-Bt-50", OURS): [52.0, 48.0, 50.0, 51.0, 49.0, 50.0, 50.0, 50.0],
    ("S-Bt-50", BTS): [20.0, 90.0, 91.0, 92.0, 93.0, 94.0, 95.0, 1225.0],
    ("S-Bt-50", RANDOM): [690.0] * 8,
}
HOSTILE = '<script>alert("x")</script><img src=http://evil.example/x.png>'


def result(regret: dict[tuple[str, str], list[float]] | None = None) -> Result:
    given = REGRET if regret is None else regret
    settings = tuple(dict.fromkeys(setting for setting, _ in given))
    policies = tuple(dict.fromkeys(policy for _, policy in given))
    games = [
        (settings.index(setting), settings.index(setting), repetition, policies.index(policy), lost)
        for (setting, policy), values in given.items()
        for repetition, lost in enumerate(values)
    ]
    columns = np.array([game[:4] for game in games], dtype=np.int32)
    final = np.array([game[4] for game in games])
    half = np.stack([np.full(final.size, 500.0), np.full(final.size, 5.0), 0.6 * final], axis=1)
    end = np.stack([np.full(final.size, 1000.0), np.full(final.size, 10.0), final], axis=1)
    return Result(
        settings=settings, problems=settings, policies=policies, shares=np.array([0.5, 1.0]),
        setting=columns[:, 0], problem=columns[:, 1], repetition=columns[:, 2],
        policy=columns[:, 3], optimum=np.full(final.size, 1000.0),
        values=np.stack([half, end], axis=1), repetitions=int(columns[:, 2].max()) + 1,
    )  # fmt: skip


def drawn(folder: Path, name: str, title: str = "Regret over the budget") -> DrawnFigure:
    svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 360"><path d="M0 0h9"/></svg>'
    (folder / f"{name}.svg").write_text(svg)
    (folder / f"{name}.png").write_bytes(b"\x89PNG")
    return DrawnFigure(
        name, title, "Lower is better.", folder / f"{name}.png", folder / f"{name}.svg"
    )


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs save none of their figures, which takes most of their time; tests/cli has them all."""

    def save(figure: Any, folder: Path, name: str) -> tuple[Path, Path]:
        saved = drawn(folder, name)
        return saved.png, saved.svg

    monkeypatch.setattr("bursar.paper.figures.draw.save_figure", save)


def claim(**changes: Any) -> dict[str, Any]:
    usual = {
        "id": "bernoulli-best",
        "section": "Synthetic Bernoulli",
        "text": "It loses less than all others.",
        "numbers": [{"setting": "S-Br-10", "policy": BTS, "difference": -20.0, "p": 0.0078}],
        "test": "paired sign flips",
        "verdict": "holds",
        "why": "It loses 20 less than BTS.",
    }
    return usual | changes


def full(folder: Path, **changes: Any) -> ReportData:
    fields: dict[str, Any] = {
        "title": "Which policy spends a budget best?",
        "experiment": {
            "name": "small", "settings": ["S-Br-10", "S-Bt-50"], "policies": [OURS, BTS, RANDOM],
            "repetitions": 8, "budget_plays": 150_000, "shares": [0.5, 1.0], "seed": 7,
            "overspend": "last", "data": None,
        },
        "result": result(),
        "claims": [
            claim(),
            claim(id="beta", section="Beta", verdict="does not hold", text="BTS is last.", why=""),
            claim(id="ads", section="Ads", verdict="not tested", numbers=[], why="No ads here."),
        ],
        "figures": [drawn(folder, "headline", "What was lost"), drawn(folder, "regret")],
        "timings": [
            {"policy": BTS, "setting": "S-Br-10", "plays": 2_000_000, "seconds": 0.5},
            {"policy": BTS, "setting": "S-Bt-50", "plays": 1_000_000, "seconds": 1.3},
        ],
        "run": {
            "started": "2025-03-04T05:06:07+00:00", "seconds": 95.0, "cores": 2,
            "machine": "a small one", "python": "3.11.2", "versions": {"numpy": "2.1.0"},
            "bursar": "0.4.0", "digest": "abc123", "command": "bursar reproduce --quick --seed 7",
            "done": 16, "cached": 0, "failed": 0,
        },
        "notes": ["The ads were left out: no --data was given."],
    }  # fmt: skip
    return ReportData(**(fields | changes))
