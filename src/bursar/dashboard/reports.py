"""Reports of experiments, served in a sandbox because a report contains scripts of its own."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from starlette.responses import FileResponse, Response

from bursar.dashboard.render import Page

# a report may run its own scripts, without access to this service or to any other site
_SANDBOX = (
    "sandbox allow-scripts allow-downloads allow-popups allow-top-navigation-by-user-activation;"
    " default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline';"
    " img-src data:; font-src data:; frame-ancestors 'none'"
)
_MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".csv": "text/csv; charset=utf-8",
    ".json": "application/json",
    ".parquet": "application/vnd.apache.parquet",
    ".toml": "text/plain; charset=utf-8",
}
_MAX_REPORTS = 200


@dataclass(frozen=True)
class Report:
    """A report: the name of its folder, its title, and the size of the experiment if known."""

    name: str
    title: str
    size: str
    at: datetime


def list_reports(folder: Path) -> list[Report]:
    """Return the reports in the subfolders of a folder, newest first."""
    paths = sorted(
        folder.glob("*/report.html"), key=lambda path: path.stat().st_mtime, reverse=True
    )
    return [_read_report(path) for path in paths[:_MAX_REPORTS]]


def _read_report(path: Path) -> Report:
    name, at = path.parent.name, datetime.fromtimestamp(path.stat().st_mtime, UTC)
    try:
        run = json.loads((path.parent / "run.json").read_text(encoding="utf-8"))
        experiment = run["experiment"]
        size = (
            f"{len(experiment['settings'])} settings, {len(experiment['policies'])} policies,"
            f" {experiment['repetitions']} repetitions"
        )
        return Report(name, f"{experiment['name']} ({name})", size, at)
    except (OSError, ValueError, KeyError, TypeError):
        return Report(name, name, "", at)


async def show_reports(page: Page) -> Response:
    """Show the list of reports."""
    folder = page.service.config.reports
    found = [] if folder is None else await page.run(list_reports, folder)
    name = None if folder is None else folder.name
    return page.render("experiments", section="experiments", reports=found, folder=name)


async def send_report_file(page: Page) -> Response:
    """Send a file of a report, sandboxed."""
    folder = page.service.config.reports
    wanted = page.params["path"]
    path = None if folder is None else await page.run(_find_file, folder, wanted)
    if path is None:
        detail = f"There is no {wanted!r} among the reports."
        return page.render_error(404, detail, "No such report")
    headers = {"content-security-policy": _SANDBOX, "cache-control": "private, no-cache"}
    return FileResponse(path, media_type=_MEDIA_TYPES[path.suffix], headers=headers)


def _find_file(folder: Path, wanted: str) -> Path | None:
    """Return a file inside the folder, or None if it does not exist or lies elsewhere."""
    root = folder.resolve()
    path = (root / wanted).resolve()
    is_inside = path.is_relative_to(root) and path.suffix in _MEDIA_TYPES and path.is_file()
    return path if is_inside else None
