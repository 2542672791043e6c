"""The dashboard in a real browser: forms, live updates, a killed server, accessibility."""

from __future__ import annotations

import importlib
import os
import re
from contextlib import contextmanager
from pathlib import Path

import pytest
from dashboard_site import Server
from extent import extent

from bursar.campaign import Campaign
from bursar.campaign.creation import open_store
from bursar.service.keys import Keys

WAIT = 60_000  # ms; machines differ
SIZES = [(375, 812), (768, 1024), (1280, 800)]
SHOTS = os.environ.get("BURSAR_SHOTS")  # a folder to keep pictures of every page in


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    (folder / "reports" / "first").mkdir(parents=True)
    (folder / "reports" / "first" / "report.html").write_text(
        "<!DOCTYPE html><html lang='en'><title>r</title><style>p{color:red}</style><p id='p'>old"
        "<script>document.getElementById('p').textContent = 'drawn'</script></html>"
    )
    one = Server(f"sqlite:///{folder / 'spend.db'}", folder / "reports")
    try:
        one.start()
        one.post(
            "/campaigns", name="llm", budget="10.00", currency="USD",
            arms=[{"key": "small", "max_cost": "0.10"}, {"key": "large", "max_cost": "0.50"}],
        )  # fmt: skip
        one.play("llm", 25)
        one.post("/campaigns/llm/decisions", id="waits")
        one.post("/campaigns", name="fresh", budget="5", arms=[{"key": "a", "max_cost": "0.1"}])
        one.post("/campaigns", name="over", budget="1", arms=[{"key": "a", "max_cost": "0.5"}])
        one.play("over", 1, "1.30")
        yield one
    finally:
        one.stop()


@contextmanager
def opened(browser, server, size=(1280, 800), scheme="light"):
    """Yield a tab and the errors on its console; check that it calls no other host."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme=scheme
    )
    tab = context.new_page()
    tab.set_default_timeout(WAIT)
    said: list[str] = []
    asked: set[str] = set()
    tab.on("console", lambda line: said.append(line.text) if line.type == "error" else None)
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("request", lambda wanted: asked.add(wanted.url))
    try:
        yield tab, said
        strange = [url for url in asked if not url.startswith((server.address, "data:", "about:"))]
        assert strange == []  # nothing leaves the host
    finally:
        context.close()


def serious(tab):
    """Return the serious violations of accessibility rules that axe finds."""
    axe = importlib.import_module("axe_playwright_python.sync_playwright").Axe()
    return [
        (one["id"], [node["html"][:120] for node in one["nodes"][:3]])
        for one in axe.run(tab).response["violations"]
        if one["impact"] in ("serious", "critical")
    ]


def money(tab, what):
    return tab.locator(f"#money [data-money={what}]")


def test_a_campaign_is_made_watched_and_changed_by_hand(browser, server):
    expect = importlib.import_module("playwright.sync_api").expect
    with opened(browser, server) as (tab, said):
        tab.goto(f"{server.address}/new")
        tab.get_by_label("Name").fill("by hand")
        tab.get_by_label("Budget").fill("a lot")
        tab.get_by_label("Currency").fill("EUR")
        for row, (key, cost) in enumerate([("a", "0.10"), ("b", "0.20"), ("c", "0.30")]):
            tab.locator(f"#arm-{row}-key").fill(key)
            tab.locator(f"#arm-{row}-cost").fill(cost)
        tab.get_by_role("button", name="Add another arm").click()
        tab.locator("#arm-3-key").fill("d")
        tab.locator("#arm-3-cost").fill("0.40")
        tab.get_by_role("button", name="Create the campaign").click()
        expect(tab.locator("#budget-error")).to_contain_text("budget must be an amount")
        expect(tab.locator("#arm-3-key")).to_have_value("d")
        tab.get_by_label("Budget").fill("5.00")
        tab.get_by_role("button", name="Create the campaign").click()
        tab.wait_for_url(re.compile(r"/campaigns/by%20hand\?done=created"))
        expect(tab.locator("#connection")).to_have_text("Live", timeout=WAIT)
        expect(money(tab, "spent")).to_have_text("0.00 EUR")
        # it spends: the numbers move, the page is not loaded again
        tab.evaluate("window.same = true")
        server.play("by%20hand", 12, "0.02")
        expect(money(tab, "spent")).to_have_text("0.24 EUR", timeout=WAIT)
        expect(tab.locator("#events tbody")).to_contain_text("cost 0.02 EUR", timeout=WAIT)
        expect(tab.locator(".chart canvas").first).to_be_visible(timeout=WAIT)
        assert tab.evaluate("window.same")
        # an arm is paused
        row = tab.locator("#arms tr", has=tab.get_by_role("rowheader", name="b at most"))
        row.get_by_role("button", name="Pause b").click()
        expect(tab.get_by_role("button", name="Resume b")).to_be_visible(timeout=WAIT)
        # the budget is raised, after a look at what that means and with its name typed
        tab.get_by_label("New budget in EUR").fill("8")
        tab.get_by_role("button", name="Preview").click()
        expect(tab.locator("#preview")).to_contain_text(
            "7.76 EUR would be available, enough for 77 asks."
        )
        tab.wait_for_load_state()  # scripts listen from here on
        tab.get_by_label("New budget in EUR").fill("9")
        expect(tab.locator("#preview")).to_contain_text("8.76 EUR would be available", timeout=WAIT)
        tab.get_by_label("Type by hand to confirm").fill("by hand")
        tab.get_by_role("button", name="Change the budget").click()
        expect(money(tab, "budget")).to_have_text("9.00 EUR", timeout=WAIT)
        refused = "Failed to load resource: the server responded with a status of 422"
        assert [line for line in said if not line.startswith(refused)] == []


def test_the_first_screen_moves_by_itself(browser, server):
    expect = importlib.import_module("playwright.sync_api").expect
    with opened(browser, server) as (tab, said):
        tab.goto(server.address)
        card = tab.locator("article", has=tab.get_by_role("link", name="llm", exact=True))
        expect(tab.locator("#connection")).to_have_text("Live", timeout=WAIT)
        before = card.locator("[data-money=spent]").inner_text()
        tab.evaluate("window.same = true")
        server.play("llm", 3, "0.01")
        expect(card.locator("[data-money=spent]")).not_to_have_text(before, timeout=WAIT)
        assert tab.evaluate("window.same")
        assert said == []


def test_live_updates_come_back_after_the_server_was_killed(browser, server):
    expect = importlib.import_module("playwright.sync_api").expect
    with opened(browser, server) as (tab, said):
        tab.goto(f"{server.address}/campaigns/llm")
        expect(tab.locator("#connection")).to_have_text("Live", timeout=WAIT)
        before = money(tab, "spent").inner_text()
        tab.evaluate("window.same = true")
        server.kill()
        expect(tab.locator("#connection")).to_contain_text("Connection lost", timeout=WAIT)
        assert money(tab, "spent").inner_text() == before
        server.start()
        expect(tab.locator("#connection")).to_have_text("Live", timeout=WAIT)
        server.play("llm", 2, "0.03")
        expect(money(tab, "spent")).not_to_have_text(before, timeout=WAIT)
        assert tab.evaluate("window.same")
        # a kill can cut any response short; htmx reports the request that it lost as an object
        lost = re.compile(
            r"ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_CONNECTION_RESET|ERR_EMPTY"
            r"|ERR_CONTENT_LENGTH_MISMATCH|ERR_SOCKET_NOT_CONNECTED"
            r"|htmx:(?:afterRequest|sendError|sendAbort)"
        )
        assert [line for line in said if not lost.search(line)] == []


def test_ticked_holds_are_not_pulled_away_and_can_be_voided(browser, server):
    expect = importlib.import_module("playwright.sync_api").expect
    with opened(browser, server) as (tab, said):
        server.post("/campaigns/llm/decisions", id="to-void")
        tab.goto(f"{server.address}/campaigns/llm")
        tab.get_by_label("Void to-void").check()
        seen = tab.locator("#events tbody tr").first.get_attribute("id")
        server.play("llm", 2, "0.01")
        expect(tab.locator("#events tbody tr").first).not_to_have_attribute(
            "id", seen, timeout=WAIT
        )
        assert tab.get_by_label("Void to-void").is_checked()
        tab.get_by_label("Reason").fill("never sent")
        tab.get_by_role("button", name="Void selected").click()
        expect(tab.get_by_text("The holds were released.")).to_be_visible()
        assert tab.get_by_label("Void to-void").count() == 0
        assert said == []


def test_colours_are_chosen_and_kept(browser, server):
    with opened(browser, server) as (tab, said):
        tab.goto(server.address)
        ground = "getComputedStyle(document.body).backgroundColor"
        light = tab.evaluate(ground)
        tab.get_by_role("button", name="Switch to dark colours").click()
        dark = tab.evaluate(ground)
        assert dark != light
        tab.goto(f"{server.address}/new")
        assert tab.evaluate(ground) == dark
        assert said == []


def test_everything_is_reached_by_the_keyboard(browser, server):
    with opened(browser, server) as (tab, said):
        tab.goto(f"{server.address}/campaigns/llm")
        reached = set()
        for _ in range(90):
            tab.keyboard.press("Tab")
            reached.add(tab.evaluate("document.activeElement.textContent.trim().slice(0, 30)"))
            width = tab.evaluate("getComputedStyle(document.activeElement).outlineWidth")
            assert width != "0px"  # where one is, is seen
        assert {"Skip to the content", "Pause small", "Retire large", "Preview"} <= {
            re.sub(r"\s+", " ", one) for one in reached
        }
        assert said == []


def test_a_report_runs_in_its_sandbox(browser, server):
    with opened(browser, server) as (tab, said):
        tab.goto(f"{server.address}/experiments")
        tab.get_by_role("link", name="first").click()
        assert tab.locator("#p").inner_text() == "drawn"
        assert tab.evaluate("origin") == "null"  # it cannot act for who looks at it
        assert said == []


def test_signing_in_and_out_with_a_key(browser, tmp_path):
    url = f"sqlite:///{tmp_path / 'keys.db'}"
    store = open_store(url)
    _, token = Keys(store).create(["read", "admin"])
    Campaign("llm", "5", {"a": "0.1"}, storage=store)
    store.close()
    locked = Server(url, tmp_path, "locked")
    try:
        locked.start()
        with opened(browser, locked) as (tab, said):
            tab.goto(f"{locked.address}/campaigns/llm")
            assert "/login" in tab.url
            assert serious(tab) == []
            tab.get_by_label("Key").fill(token)
            tab.get_by_role("button", name="Sign in").click()
            tab.wait_for_url(f"{locked.address}/campaigns/llm")
            tab.get_by_role("button", name="Pause", exact=True).click()
            tab.get_by_text("No decisions are granted until it is resumed").wait_for()
            tab.get_by_role("button", name="Sign out").click()
            tab.get_by_text("You are signed out.").wait_for()
            tab.goto(locked.address)
            assert "/login" in tab.url
            assert said == []
    finally:
        locked.stop()


PAGES = {
    "overview": "/",
    "campaign": "/campaigns/llm",
    "fresh": "/campaigns/fresh",
    "over": "/campaigns/over",
    "why": "/campaigns/llm/decisions/waits",
    "events": "/campaigns/llm/events",
    "ledger": "/campaigns/llm/ledger",
    "budget": "/campaigns/llm/budget?budget=20",
    "new": "/new",
    "keys": "/keys",
    "experiments": "/experiments",
    "missing": "/campaigns/nope",
}


# every page in one of the schemes, in turn, on the narrowest screen and one of the others
SAMPLE = [
    (name, ("light", "dark")[number % 2], [SIZES[0], SIZES[1 + number // 2 % 2]])
    for number, name in enumerate(PAGES)
]
ALL = [(name, scheme, SIZES) for name in PAGES for scheme in ("light", "dark")]


@pytest.mark.parametrize(("name", "scheme", "sizes"), extent(SAMPLE, ALL))
def test_pages_fit_their_screens_and_can_be_used_by_everybody(browser, server, name, scheme, sizes):
    for size in sizes:
        with opened(browser, server, size, scheme) as (tab, said):
            tab.goto(server.address + PAGES[name])
            if tab.locator(".plot").count():
                tab.locator(".chart canvas, .plot .loading").first.wait_for()
            root = "document.documentElement"
            assert tab.evaluate(f"{root}.scrollWidth - {root}.clientWidth") <= 0
            if SHOTS:
                path = Path(SHOTS) / f"{name}-{size[0]}-{scheme}.png"
                tab.screenshot(path=str(path), full_page=True)
            if size == sizes[-1] or extent(False, scheme == "light" and size == SIZES[0]):
                assert serious(tab) == []
            expected = ["404"] if name == "missing" else []
            assert [line for line in said if not any(word in line for word in expected)] == []
