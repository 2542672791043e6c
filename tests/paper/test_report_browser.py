"""The report in a real browser: offline, silent, and as wide as the screen."""

from __future__ import annotations

import pytest
from report_sample import full

from bursar.paper.report import write_report

FAILURE = {"setting": "S-Br-10", "repetition": 4, "policy": "bts", "error": "ValueError: no",
           "traceback": "Traceback " + "very long " * 60}  # fmt: skip


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    return write_report(
        full(folder, failures=[FAILURE], advice=["Stop ad 7."]), folder / "report.html"
    )


@pytest.fixture(params=[(375, 812), (768, 1024), (1280, 800)], ids=lambda size: f"{size[0]}px")
def opened(request, browser, report):
    """Open the page without a network; give it with what it said and asked for."""
    width, height = request.param
    context = browser.new_context(viewport={"width": width, "height": height}, offline=True)
    tab = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    tab.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("request", lambda wanted: asked.append(wanted.url))
    tab.goto(report.as_uri())
    yield tab, said, asked
    context.close()


def test_the_page_is_silent_and_asks_for_nothing_else(opened, report):
    tab, said, asked = opened
    tab.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert said == []
    assert [url for url in asked if not url.startswith("data:")] == [report.as_uri()]
    assert tab.evaluate("[...document.images].every(one => one.complete && one.naturalWidth > 0)")


def test_nothing_is_wider_than_the_screen(opened):
    tab, _, _ = opened
    for state in ("false", "true"):
        tab.evaluate(f"document.querySelectorAll('details').forEach(one => one.open = {state})")
        root = "document.documentElement"
        assert tab.evaluate(f"{root}.scrollWidth - {root}.clientWidth") <= 0


def test_heading_and_answer_are_seen_at_once(opened):
    tab, _, _ = opened
    for place in ("h1", ".answer"):
        assert tab.locator(place).is_visible()
        box = tab.locator(place).bounding_box()
        assert box["y"] + box["height"] < tab.viewport_size["height"]


def test_the_first_screen_of_a_desk_holds_the_summary(browser, tmp_path):
    tab = browser.new_page(viewport={"width": 1280, "height": 800})
    tab.goto(write_report(full(tmp_path), tmp_path / "report.html").as_uri())
    box = tab.locator("#plain").bounding_box()
    tab.close()
    assert box["y"] + box["height"] <= 800


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(browser, report, scheme):
    """WCAG AA asks for 4.5 to 1."""
    tab = browser.new_page(color_scheme=scheme)
    tab.goto(report.as_uri())
    faint = tab.evaluate(_FAINT)
    tab.close()
    assert faint == []


_FAINT = """() => {
  const rgb = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = one => {
    for (; one; one = one.parentElement) {
      const colour = rgb(getComputedStyle(one).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    throw new Error("the page has no ground");
  };
  document.querySelectorAll("details").forEach(one => one.open = true);
  const faint = new Set();
  for (const one of document.body.querySelectorAll("*")) {
    if (![...one.childNodes].some(node => node.nodeType === 3 && node.data.trim())) continue;
    const ink = light(rgb(getComputedStyle(one).color)), page = light(ground(one));
    const contrast = (Math.max(ink, page) + 0.05) / (Math.min(ink, page) + 0.05);
    if (contrast < 4.5) faint.add(`${one.tagName}.${one.className} ${contrast.toFixed(2)}`);
  }
  return [...faint];
}"""
