"""Reports of experiments, opened in a sandbox: a report is a page of somebody's own making."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, Response

from bursar.dashboard.render import refuse, render
from bursar.formatting import format_time
from bursar.service.auth import require
from bursar.service.service import Service

__all__ = ["Report", "experiments", "report", "reports"]

# its own scripts and styles may run, apart from this service; nothing remote, nothing of ours
_SANDBOX = (
    "sandbox allow-scripts allow-downloads allow-popups allow-top-navigation-by-user-activation;"
    " default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline';"
    " img-src data:; font-src data:; frame-ancestors 'none'"
)
_KINDS = {
    ".html": "text/html; charset=utf-8", ".png": "image/png", ".svg": "image/svg+xml",
    ".csv": "text/csv; charset=utf-8", ".json": "application/json",
    ".parquet": "application/vnd.apache.parquet", ".toml": "text/plain; charset=utf-8",
}  # fmt: skip
_MOST = 200


@dataclass(frozen=True)
class Report:
    """A report in the folder."""

    name: str
    title: str
    about: str


def reports(folder: Path) -> list[Report]:
    """Return the reports in a folder, newest first: each in a folder of its own."""
    found = sorted(
        folder.glob("*/report.html"), key=lambda path: path.stat().st_mtime, reverse=True
    )
    return [_report(path) for path in found[:_MOST]]


def _report(path: Path) -> Report:
    made = format_time(datetime.fromtimestamp(path.stat().st_mtime, UTC))
    name = path.parent.name
    try:
        told = json.loads((path.parent / "run.json").read_text(encoding="utf-8"))
        asked = told["experiment"]
        about = (
            f"{len(asked['settings'])} settings, {len(asked['policies'])} policies,"
            f" {asked['repetitions']} repetitions, made {made}"
        )
        return Report(name, f"{asked['name']} ({name})", about)
    except (OSError, ValueError, KeyError, TypeError):
        return Report(name, name, f"made {made}")


async def experiments(service: Service, request: Request) -> Response:
    """List the reports."""
    require(request, "read")
    folder = service.config.reports
    found = [] if folder is None else await service.run_in_thread(reports, folder)
    why = "The service was started without a folder of reports; make one and name it:"
    if folder is not None:
        why = f"There is no report in {folder.name}; make one:"
    return render(service, request, "experiments", place="experiments", reports=found, why_none=why)


async def report(service: Service, request: Request) -> Response:
    """Send a file of a report, for a page that can do nothing but show itself."""
    require(request, "read")
    folder = service.config.reports
    wanted: str = request.path_params["path"]
    path = None if folder is None else await service.run_in_thread(_inside, folder, wanted)
    if path is None:
        return refuse(
            service, request, 404, f"There is no {wanted!r} among the reports.", "No such report"
        )
    headers = {"content-security-policy": _SANDBOX, "cache-control": "private, no-cache"}
    return FileResponse(path, media_type=_KINDS[path.suffix], headers=headers)


def _inside(folder: Path, wanted: str) -> Path | None:
    """Return a file of the folder, or None for what is not there or lies elsewhere."""
    root = folder.resolve()
    path = (root / wanted).resolve()
    known = path.suffix in _KINDS and path.is_relative_to(root) and path.is_file()
    return path if known else None
