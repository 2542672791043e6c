"""The command ``bursar compare``: two results folders side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bursar.cli.output import console, new_table, print_json
from bursar.errors import InvalidData, MissingData
from bursar.result import Result, extra

__all__ = ["compare_command"]


def compare_command(one: Path, other: Path, as_json: bool) -> None:
    """Print final regret of both, paired where both played the same games; then what changed."""
    versus = extra("bursar.analysis.versus", "scipy").versus
    first, second = _result(one), _result(other)
    rows = [row.as_dict() for row in versus(first, second)]
    claims = _changed(_read(one, "claims.json", []), _read(other, "claims.json", []))
    made = [_read(folder, "run.json", {}).get("run", {}) for folder in (one, other)]
    if as_json:
        print_json({"folders": [str(one), str(other)], "rows": rows, "claims": claims,
                    "runs": made})  # fmt: skip
        return
    out = console()
    out.print(f"A  {one}\nB  {other}\n", highlight=False, markup=False)
    left = ("setting", "policy", "verdict")
    columns = ("setting", "policy", "A", "B", "B - A", "95%", "failed A", "failed B", "verdict")
    table = new_table(*columns, left=left)
    for row in rows:
        table.add_row(
            row["setting"], row["policy"], f"{row['mean_a']:,.1f}", f"{row['mean_b']:,.1f}",
            f"{row['difference']:+,.1f}", f"{row['low']:+,.1f} … {row['high']:+,.1f}",
            f"{row['failed_a']:.1%}", f"{row['failed_b']:.1%}", row["verdict"],
        )  # fmt: skip
    out.print(table)
    _only(out, first, second)
    for claim in claims:
        out.print(f"claim {claim['id']}: {claim['a']} in A, {claim['b']} in B", highlight=False)
    for key in ("bursar", "digest", "seconds", "machine"):
        values = [run.get(key, "?") for run in made]
        if values[0] != values[1]:
            out.print(f"{key}: {values[0]} in A, {values[1]} in B", highlight=False)


def _only(out: Any, first: Result, second: Result) -> None:
    for words, here, there in (("A", first, second), ("B", second, first)):
        for kind in ("settings", "policies"):
            more = [name for name in getattr(here, kind) if name not in getattr(there, kind)]
            if more:
                out.print(f"{kind} only in {words}: {', '.join(more)}", highlight=False)


def _changed(one: list[Any], other: list[Any]) -> list[dict[str, str]]:
    before = {claim["id"]: claim["verdict"] for claim in one}
    after = {claim["id"]: claim["verdict"] for claim in other}
    return [
        {"id": key, "a": before.get(key, "not there"), "b": after.get(key, "not there")}
        for key in before | after
        if before.get(key) != after.get(key)
    ]


def _result(folder: Path) -> Result:
    path = folder / "results.parquet"
    if not path.is_file():
        raise MissingData(
            f"no results.parquet in {str(folder)!r}; give a folder that bursar reproduce or"
            " bursar run wrote"
        )
    arrow = extra("bursar.arrow", "pyarrow")
    found: Result = arrow.read(path)
    return found


def _read(folder: Path, name: str, otherwise: Any) -> Any:
    path = folder / name
    try:
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else otherwise
    except ValueError as error:
        raise InvalidData(f"{path} is not JSON ({error}); run the experiment again") from error
