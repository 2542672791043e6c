"""Results made by hand, where the answer is known."""

from __future__ import annotations

import numpy as np

from bursar.simulation.result import Result

SHARES = (0.01, 0.1, 0.5, 1.0)


def made(
    regret: dict[tuple[str, str], np.ndarray],
    shares: tuple[float, ...] = SHARES,
    optimum: float = 1000.0,
    problems: int = 1,
) -> Result:
    """Return a result of regret by (setting, policy): repetitions x shares, or final regret only.

    Final regret alone is spread over the shares in proportion. With several problems, problem k of
    a repetition has k times the regret of the mean, plus what keeps the mean.
    """
    settings = tuple(dict.fromkeys(setting for setting, _ in regret))
    policies = tuple(dict.fromkeys(policy for _, policy in regret))
    keys, blocks = [], []
    for (setting, policy), given in regret.items():
        curves = np.asarray(given, dtype=float)
        if curves.ndim == 1:
            curves = curves[:, np.newaxis] * np.array(shares)
        for repetition, curve in enumerate(curves):
            for problem in range(problems):
                factor = 2.0 * (problem + 1) / (problems + 1)
                keys.append((settings.index(setting), problem, repetition, policies.index(policy)))
                zero = np.zeros_like(curve)
                blocks.append(np.stack([zero, zero, curve * factor], axis=1))
    order = np.random.default_rng(1).permutation(len(keys))  # no code may rely on an order
    columns = np.array(keys, dtype=np.int32)[order]
    return Result(
        settings=settings, problems=tuple(f"problem {i}" for i in range(problems)),
        policies=policies, shares=np.array(shares), setting=columns[:, 0], problem=columns[:, 1],
        repetition=columns[:, 2], policy=columns[:, 3], optimum=np.full(len(keys), optimum),
        values=np.array(blocks)[order], repetitions=int(columns[:, 2].max()) + 1,
    )  # fmt: skip
