"""The pages, asked for as a browser without scripts would."""

from __future__ import annotations

import re
import time
from decimal import Decimal
from html import unescape

import pytest
from dashboard_site import make_campaign, site
from hand_clock import HandClock

from bursar.campaign import Campaign
from bursar.campaign.config import RULES
from bursar.errors import CorruptLedger
from bursar.ledger import MemoryStore
from bursar.service.keys import SCOPES
from bursar.service.maintenance import find_violations

PAGES = [
    "/",
    "/new",
    "/keys",
    "/experiments",
    "/campaigns/llm",
    "/campaigns/llm/events",
    "/campaigns/llm/ledger",
    "/campaigns/llm/budget",
    "/campaigns/llm/decisions/llm-open",
]


@pytest.fixture
def home():
    with site() as (service, client):
        make_campaign(service.store)
        yield service, client


def text(answer):
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.text)))


def csrf(answer):
    return re.search(r'name="csrf" value="([^"]*)"', answer.text)[1]


def test_without_campaigns_the_first_screen_says_how_to_begin():
    with site() as (_, client):
        told = text(client.get("/"))
    assert "Create the first campaign" in told
    assert "bursar campaign create llm --budget 25.00" in told


@pytest.mark.parametrize("path", PAGES)
def test_every_page_is_whole_and_has_no_script_or_style_inside(home, path):
    _, client = home
    answer = client.get(path)
    assert answer.status_code == 200
    assert answer.text.rstrip().endswith("</html>")
    assert "<h1" in answer.text
    policy = answer.headers["content-security-policy"]
    assert "unsafe-inline" not in policy
    assert not re.search(r"<script(?![^>]* src=)|<style|\sstyle=|\son[a-z]+=", answer.text)
    assert not re.search(r'(?:src|href|action)="(?:https?:)?//', answer.text)


def test_the_first_screen_shows_the_money(home):
    service, client = home
    campaign = service.campaign("llm")
    told = text(client.get("/"))
    assert "Am I losing money?" in told
    assert f"Spent {campaign.spent:.2f} USD" in told
    assert "Budget 10.00 USD" in told
    assert "best arm" in told
    assert "(estimated)" in told


def test_what_is_wrong_is_said_and_decides_the_answer():
    with site() as (service, client):
        store = service.store
        Campaign("shut", "1.00", {"x": "0.10"}, storage=store).end()
        assert "No campaign is running, so nothing is being spent." in text(client.get("/"))
        make_campaign(store)
        assert "No. The running campaign is within budget, without" in text(client.get("/"))
        clock = HandClock(int(time.time()) - 7200)
        old = Campaign("old", "1.00", {"x": "0.10"}, storage=store, clock=clock)
        old.ask()
        told = text(client.get("/"))
        assert "All campaigns are within budget, but check old." in told
        assert "1 hold is stuck." in told
        bad = Campaign("over", "1.00", {"call": "0.50"}, storage=store, currency="USD")
        bad.tell(bad.ask(), cost="1.30", reward=1)
        told = text(client.get("/"))
        assert "Action needed: check over." in told
        assert "Overdrawn by 0.30 USD; no further decisions are granted." in told
        assert "Costs exceeded their holds by 0.80 USD in total." in told


def test_alarms_are_shown(home, monkeypatch):
    _, client = home
    monkeypatch.setattr(Campaign, "alarms", ["small changed", "large changed"])
    for path in ("/", "/campaigns/llm"):
        assert "Alarm: small changed Alarm: large changed" in text(client.get(path))


def test_the_performance_of_a_campaign_is_said_in_words(home):
    service, client = home
    best = "as much as the best arm, small (estimated at "
    assert best in text(client.get("/campaigns/llm"))
    for name, arms, reward, words in (
        ("new", {"a": "0.1"}, None, "Nothing has been spent yet."),
        ("free", {"a": "0.1"}, 0.0, "), does not earn anything."),
        ("worse", {"<b>": "0.1", "bad": "0.1"}, 0.9, "% of the best arm, <b> (estimated at "),
    ):
        campaign = Campaign(name, "100", arms, policy="uniform", storage=service.store)
        if reward is not None:
            campaign.run(lambda arm, r=reward: ("0.10", 0.0 if arm == "bad" else r), most=400)
        page = client.get(f"/campaigns/{name}")
        assert words in text(page).replace("&lt;", "<")
        assert "<b>" not in page.text


def test_totals_keep_currencies_apart():
    with site() as (service, client):
        for name, budget, currency in (("a", "10", "EUR"), ("b", "5.50", "EUR"), ("c", "7", "eur")):
            Campaign(name, budget, {"x": "1"}, storage=service.store, currency=currency)
        totals = text(client.get("/")).partition("Last event")[0]
        assert "Budget 15.50 EUR 2 campaigns in EUR" in totals
        assert "Budget 7.00 eur 1 campaign in eur" in totals


def test_the_bar_has_all_the_money():
    with site() as (service, client):
        campaign = Campaign("llm", "1.00", {"call": "0.25"}, storage=service.store)
        campaign.tell(campaign.ask(), cost="0.25")
        campaign.ask()
        page = client.get("/campaigns/llm").text
        assert '<rect class="spent" width="25.0" height="10"/>' in page
        assert '<rect class="held" x="25.0" width="25.0" height="10"/>' in page
        assert 'class="limit"' not in page
        campaign.tell(campaign.ask(), cost="3.50")
        assert '<rect class="limit" x="24.7" width="0.6"' in client.get("/campaigns/llm").text


def test_arms_are_sorted_by_links_and_holds_are_counted(home):
    service, client = home
    page = client.get("/campaigns/llm", params={"sort": "asks"})
    assert re.findall(r'aria-sort="(\w+)".*?id="sort-(\w+)"', page.text) == [("descending", "asks")]
    assert 'href="/campaigns/llm?sort=asks&amp;down=0#arms"' in page.text
    held = service.campaign("llm").held
    waiting = f"1 decision is waiting for an outcome, with {held:.2f} USD on hold; none is stuck."
    assert waiting in text(page)
    small = text(page).index("small best so far")
    assert small < text(page).index("large at most")
    turned = text(client.get("/campaigns/llm", params={"sort": "asks", "down": "0"}))
    assert turned.index("large at most") < turned.index("small best so far")


def test_live_parts_come_alone_and_say_where_they_belong(home):
    _, client = home
    answer = client.get("/campaigns/llm", headers={"x-part": "live"})
    assert "<html" not in answer.text
    parts = re.findall(r'id="([a-z-]+)"[^>]*hx-swap-oob="true"', answer.text)
    assert parts == ["top", "money", "spend-numbers", "arms", "holds", "events"]


def test_charts_get_numbers_and_304_when_nothing_happened(home):
    service, client = home
    first = client.get("/campaigns/llm/series.json")
    found = first.json()
    assert Decimal(found["spent"][-1]) == service.campaign("llm").spent
    again = client.get(
        "/campaigns/llm/series.json", headers={"if-none-match": first.headers["etag"]}
    )
    assert (again.status_code, again.content) == (304, b"")
    service.campaign("llm").ask()
    news = client.get(
        "/campaigns/llm/series.json", headers={"if-none-match": first.headers["etag"]}
    )
    assert news.status_code == 200


def test_a_campaign_is_made_by_the_form(home):
    service, client = home
    fields = {
        "name": "ads/winter 2026", "budget": "40.00", "currency": "EUR", "exponent": "2",
        "rows": "3", "arm-0-key": "video", "arm-0-cost": "0.60", "policy": "bts",
    }  # fmt: skip
    answer = client.post("/new", data=fields)
    assert answer.status_code == 303
    assert answer.headers["location"] == "/campaigns/ads%2Fwinter%202026?done=created"
    assert service.campaign("ads/winter 2026").budget == Decimal("40.00")


def test_the_form_has_every_rule_of_a_campaign(home):
    service, client = home
    page = client.get("/new")
    for rule in RULES.values():
        assert f'name="{rule.name}"' in page.text
        assert rule.help in text(page)
    fields = {
        "name": "all rules", "budget": "40.00", "rows": "3", "arm-0-key": "a", "arm-0-cost": "1",
        "on_failure": "refuse", "patience": "0.5", "on_change": "reset", "min_cost": "0.25",
    }  # fmt: skip
    assert client.post("/new", data=fields).status_code == 303
    config = service.campaign("all rules").config
    assert (config.on_failure, config.patience) == ("refuse", 0.5)
    assert (config.on_change, config.min_cost) == ("reset", "0.25")
    wrong = client.post("/new", data=fields | {"name": "b", "on_change": "shout", "seed": "x"})
    assert "on_change must be 'flag', 'reset' or 'ignore', got 'shout'." in text(wrong)
    assert "Enter a number, got 'x'." in text(wrong)
    assert "<details open>" in wrong.text


def test_nothing_typed_is_lost_on_an_error(home):
    service, client = home
    fields = {"name": "x", "budget": "4O", "rows": "3", "arm-0-key": "video", "arm-0-cost": "0.60"}
    answer = client.post("/new", data=fields)
    assert answer.status_code == 422
    assert "budget must be an amount such as '1.50', got '4O'" in text(answer)
    assert 'value="video"' in answer.text
    assert "x" not in service.store.names()
    taken = client.post("/new", data=fields | {"name": "llm", "budget": "40"})
    assert "A campaign named 'llm' already exists" in text(taken)


def test_more_arms_without_scripts(home):
    _, client = home
    answer = client.post("/new", data={"rows": "3", "more": "1", "arm-0-key": "kept"})
    assert 'name="arm-5-key"' in answer.text
    assert 'value="kept"' in answer.text
    assert "aria-invalid" not in answer.text


def test_arms_are_paused_resumed_retired_and_added(home):
    service, client = home
    campaign = service.campaign("llm")

    def states():
        return {arm.key: arm.state for arm in campaign.arms()}

    assert client.post("/campaigns/llm/arms/pause", data={"key": "large"}).status_code == 303
    assert states()["large"] == "paused"
    client.post("/campaigns/llm/arms/resume", data={"key": "large"})
    assert states()["large"] == "active"
    client.post("/campaigns/llm/arms/retire", data={"key": "large"})
    client.post("/campaigns/llm/arms/add", data={"key": "medium", "max_cost": "0.2"})
    assert states() == {"small": "active", "large": "retired", "medium": "active"}
    assert [*campaign.events()][-1].body["by"] == "open"


def test_the_budget_needs_the_name_and_the_newest_version(home):
    service, client = home
    campaign = service.campaign("llm")
    page = client.get("/campaigns/llm/budget", params={"budget": "20"})
    assert "would be available, enough for" in text(page)
    version = re.search(r'name="version" value="(\d+)"', page.text)[1]
    wish = {"budget": "20", "version": version}
    slip = client.post("/campaigns/llm/budget", data=wish | {"confirm": "lmm"})
    assert slip.status_code == 422
    assert campaign.budget == 10
    campaign.pause_arm("large")
    stale = client.post("/campaigns/llm/budget", data=wish | {"confirm": "llm"})
    assert stale.status_code == 412
    assert "The campaign was changed in the meantime" in text(stale)
    assert campaign.budget == 10
    wish["version"] = re.search(r'name="version" value="(\d+)"', stale.text)[1]
    done = client.post("/campaigns/llm/budget", data=wish | {"confirm": "llm"})
    assert done.status_code == 303
    assert campaign.budget == 20
    assert "The budget was changed." in text(client.get(done.headers["location"]))


def test_a_budget_is_previewed(home):
    service, client = home
    campaign = service.campaign("llm")

    def preview(budget):
        return text(client.get("/campaigns/llm/budget", params={"budget": budget}))

    available = Decimal("20") - campaign.spent - campaign.held
    asks = int(available // Decimal("0.10"))
    assert f"{available:.2f} USD would be available, enough for {asks} asks." in preview("20")
    assert "This is" not in preview("20")
    assert "This is less than what is spent and held" in preview("0.10")
    assert "This is at least ten times the current budget." in preview("100")
    assert "This is the current budget." in preview("10")
    campaign.pause_arm("small")
    campaign.pause_arm("large")
    assert "No arm would be affordable" in preview("20")


def test_a_campaign_is_paused_resumed_capped_and_closed(home):
    service, client = home
    campaign = service.campaign("llm")
    client.post("/campaigns/llm/pause", data={"version": ""})
    assert campaign.state == "paused"
    assert "Paused" in text(client.get("/campaigns/llm"))
    client.post("/campaigns/llm/resume", data={"version": ""})
    client.post("/campaigns/llm/cap", data={"cap": "5"})
    assert campaign.status().day_cap == 5
    client.post("/campaigns/llm/cap", data={"cap": ""})
    assert campaign.status().day_cap is None
    assert client.post("/campaigns/llm/close", data={"confirm": "no"}).status_code == 422
    assert campaign.state == "active"
    client.post("/campaigns/llm/close", data={"confirm": "llm"})
    assert campaign.state == "closed"


def test_holds_are_voided_together(home):
    service, client = home
    campaign = service.campaign("llm")
    ids = [campaign.ask().id for _ in range(3)]
    page = client.get("/campaigns/llm").text
    assert all(f'name="hold:{one}"' in page for one in ids)
    without = client.post("/campaigns/llm/void", data={f"hold:{ids[0]}": "1", "which": "some"})
    assert without.status_code == 422
    client.post(
        "/campaigns/llm/void",
        data={
            f"hold:{ids[0]}": "1",
            f"hold:{ids[2]}": "1",
            "which": "some",
            "reason": "never sent",
        },
    )
    assert [campaign.decision(one).money for one in ids] == ["voided", "held", "voided"]
    shown = {f"shown:{one.id}": "1" for one in campaign.holds()}
    client.post("/campaigns/llm/void", data=shown | {"which": "all", "reason": "over"})
    assert campaign.held == 0


def test_events_are_filtered_and_linked(home):
    service, client = home
    service.campaign("llm").set_budget("11", by="ada")
    changes = client.get("/campaigns/llm/events", params={"group": "changes"})
    assert "Budget changed from 10.00 USD to 11.00 USD" in text(changes)
    assert "by ada" in text(changes)
    assert "chosen" not in text(changes)
    one = client.get("/campaigns/llm/events", params={"decision": "llm-open"})
    assert one.text.count('<tr role="row" id="e') == 1
    linked = client.get("/campaigns/llm/events", params={"before": "5"})
    assert 'id="e4"' in linked.text
    assert 'id="e5"' not in linked.text


def test_past_outcomes_are_shown_apart(home):
    service, client = home
    past = {"arm": ["small"] * 1234, "reward": [1] * 1234, "cost": [0.01] * 1234}
    service.campaign("llm").learn_from(past, weight=0.5, source="evals <b>", by="ada")
    changes = client.get("/campaigns/llm/events", params={"group": "changes"})
    line = "1,234 past outcomes of 1 arm learned from evals &lt;b&gt; with weight 0.5"
    assert line in changes.text
    assert "by ada" in text(changes)
    assert "1,234 past" in text(client.get("/campaigns/llm"))


def test_why_this_arm(home):
    service, client = home
    page = client.get("/campaigns/llm/decisions/llm-open")
    told = text(page)
    assert "was chosen" in told
    assert "choice reproduced and verified" in told
    assert "chosen by the largest index" in told
    for words in ("Index", "Decision llm-open", "Seed 0"):
        assert words in told
    assert ("large was not tried: at its likely cost" in told) == ("waits: not tried yet" in told)
    assert "Optimistic reward" not in told
    make_campaign(service.store, "paper", policy="omega-star-ucb:rho=0.25")
    bounds = text(client.get("/campaigns/paper/decisions/paper-open"))
    assert "Optimistic reward" in bounds
    assert "Pessimistic cost" in bounds
    assert "Reason for voiding it" in told
    assert 'class="index" y="2" width="100.0"' in page.text
    assert client.get("/campaigns/llm/decisions/never").status_code == 404


def test_a_bill_is_compared_and_nothing_kept(home):
    service, client = home
    before = service.campaign("llm").status()
    first = next(e.decision for e in service.campaign("llm").events() if e.kind == "asked")
    answer = client.post(
        "/campaigns/llm/ledger:batch", data={"bill": f"decision,amount\n{first},0.06\n"}
    )
    assert "1 of 1 decision on the bill differs from the recorded spend." in text(answer)
    assert "+0.01 USD The provider billed more." in text(answer)
    bill = {"bill": f"{first},0.04\nllm-open,1\nstranger,2\n"}
    answer = text(client.post("/campaigns/llm/ledger:batch", data=bill))
    assert "−0.01 USD The provider billed less." in answer
    assert "No cost is recorded: it was not reported, or the decision was voided." in answer
    assert "stranger 2.00 USD – +2.00 USD This campaign has no such decision." in answer
    assert client.post("/campaigns/llm/ledger:batch", data={"bill": "a,b,c"}).status_code == 422
    assert service.campaign("llm").status() == before


def test_what_is_not_there_says_so_in_html(home):
    _, client = home
    answer = client.get("/campaigns/nope")
    assert answer.status_code == 404
    assert "There is no campaign named 'nope'." in text(answer)
    assert answer.headers["content-type"].startswith("text/html")


def test_a_name_with_a_slash_has_a_page(home):
    service, client = home
    make_campaign(service.store, "ads/winter")
    assert "ads/winter" in text(client.get("/campaigns/ads%2Fwinter"))
    why = client.get("/campaigns/ads%2Fwinter/decisions/ads%2Fwinter-open")
    assert "was chosen" in text(why)


def test_files_are_kept_by_browsers_and_asked_about(home):
    _, client = home
    first = client.get("/static/app.css")
    assert first.headers["cache-control"] == "no-cache"
    again = client.get("/static/app.css", headers={"if-none-match": first.headers["etag"]})
    assert again.status_code == 304
    assert client.get("/static/../__init__.py").status_code == 404


def test_names_are_never_taken_for_html():
    with site() as (service, client):
        name = '"><img src=x onerror=alert(1)>'
        Campaign(name, "1", {"<b>arm</b>": "0.1"}, storage=service.store, currency="<i>")
        page = client.get("/").text
        assert "<img" not in page
        assert "<i>" not in page


def test_pages_need_a_key_and_changes_a_token():
    with site(require_keys=True) as (service, client):
        make_campaign(service.store)
        _, token = service.keys.create(["read", "admin", "keys"], note="ada")
        answer = client.get("/campaigns/llm")
        assert (answer.status_code, answer.headers["location"]) == (
            303,
            "/login?next=%2Fcampaigns%2Fllm",
        )
        wrong = client.post("/login", data={"key": "bursar_x_y"})
        assert wrong.status_code == 401
        assert "bursar_x_y" not in wrong.text
        right = client.post("/login", data={"key": token, "next": "//evil.example"})
        assert (right.status_code, right.headers["location"]) == (303, "/")
        cookie = right.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        page = client.get("/campaigns/llm")
        assert page.status_code == 200
        assert client.post("/campaigns/llm/pause", data={"csrf": "x"}).status_code == 403
        assert service.campaign("llm").state == "active"
        done = client.post("/campaigns/llm/pause", data={"csrf": csrf(page)})
        assert done.status_code == 303
        assert service.campaign("llm").state == "paused"
        out = client.post("/logout", data={"csrf": csrf(page)})
        assert out.status_code == 303
        client.cookies.clear()
        assert client.get("/").status_code == 303


def test_13_low_a_copied_cookie_is_of_no_use_after_the_logout():
    with (
        site(require_keys=True) as (service, client),
        site(service.store, require_keys=True) as (_, there),  # another process of the same store
    ):
        _, token = service.keys.create(["read", "admin"])
        client.post("/login", data={"key": token})
        copied = {"cookie": "; ".join(f"{k}={v}" for k, v in client.cookies.items())}
        page = client.get("/")
        assert page.status_code == there.get("/", headers=copied).status_code == 200
        assert client.post("/logout", data={"csrf": csrf(page)}).status_code == 303
        client.cookies.clear()
        for one in (client, there):
            assert one.get("/", headers=copied).status_code == 303
            assert one.get("/v1/campaigns", headers=copied).status_code == 401
        client.post("/login", data={"key": token})
        assert client.get("/").status_code == 200


def test_13_9_failed_logins_are_limited_apart_from_everything_else():
    with site(require_keys=True, rate=1.0) as (service, client):
        _, token = service.keys.create(["read"])
        wrong = {"key": "bursar_x_" + "y" * 43}
        codes = [client.post("/login", data=wrong).status_code for _ in range(30)]
        assert codes[:20] == [401] * 20
        assert codes[-1] == 429
        refused = client.post("/login", data=wrong)
        assert "too many failed logins from your address" in text(refused)
        assert int(refused.headers["retry-after"]) >= 1
        assert client.get("/healthz").status_code == 200
        assert client.get("/login").status_code == 200
        assert client.post("/login", data={"key": token}).status_code == 303, "a right key enters"
        assert client.get("/").status_code == 200


def test_13_low_a_field_that_comes_twice_is_refused():
    with site() as (service, client):
        make_campaign(service.store)
        form = "id=llm-open&reason=x&reason=y"
        headers = {"content-type": "application/x-www-form-urlencoded"}
        answer = client.post("/campaigns/llm/pause", content=form, headers=headers)
        assert answer.status_code == 422
        assert "the field &#39;reason&#39; twice" in answer.text


def test_13_3_revoking_on_the_page_ends_the_descendants_unless_told_otherwise():
    with site() as (service, client):
        keys = service.keys
        for only, state in (("", "revoked"), ("1", "live")):
            old, _ = keys.create(["ask"])
            new, _ = keys.rotate(old.id, 3600)
            assert "Keep the keys that were rotated from it" in client.get("/keys").text
            done = client.post("/keys/revoke", data={"id": old.id, "only": only})
            assert done.status_code == 303
            assert keys.get(old.id).state() == "revoked"
            assert keys.get(new.id).state() == state


def test_a_reader_sees_no_buttons_and_cannot_change():
    with site(require_keys=True) as (service, client):
        make_campaign(service.store)
        make_campaign(service.store, "ads")
        _, token = service.keys.create(["read"], campaigns=["llm"])
        client.post("/login", data={"key": token})
        page = client.get("/campaigns/llm")
        assert "arms/pause" not in page.text
        assert 'id="rules"' not in page.text
        answer = client.post("/campaigns/llm/arms/pause", data={"csrf": csrf(page), "key": "large"})
        assert answer.status_code == 403
        assert client.get("/campaigns/ads").status_code == 403
        assert "ads" not in text(client.get("/"))
        assert client.get("/keys").status_code == 403


def test_keys_are_made_shown_once_and_revoked():
    with site() as (service, client):
        made = client.post("/keys", data={"scope:ask": "1", "note": "nightly", "days": "30"})
        token = re.search(r"bursar_\w+_[\w-]+", made.text)[0]
        key = service.keys.find(token)
        assert key.scopes == {"ask"}
        assert key.expires is not None
        again = client.get("/keys")
        assert all(f'name="scope:{scope}"' in again.text for scope in SCOPES)
        assert token not in again.text
        assert "nightly" in text(again)
        assert client.post("/keys", data={"note": "none"}).status_code == 422
        client.post("/keys/revoke", data={"id": key.id})
        assert service.keys.find(token) is None


def test_reports_are_opened_in_a_sandbox(tmp_path):
    folder = tmp_path / "reports"
    (folder / "one").mkdir(parents=True)
    (folder / "one" / "report.html").write_text("<script>1</script>")
    (tmp_path / "secret.json").write_text("{}")
    with site(reports=folder) as (_, client):
        assert '/experiments/one/report.html"' in client.get("/experiments").text
        answer = client.get("/experiments/one/report.html")
        assert answer.text == "<script>1</script>"
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("sandbox ")
        assert "allow-same-origin" not in policy
        assert "default-src 'none'" in policy
        for path in ("../secret.json", "%2e%2e/secret.json", "one/../../secret.json", "one"):
            assert client.get(f"/experiments/{path}").status_code == 404


def test_the_stream_of_an_unknown_campaign_is_refused(home):
    _, client = home
    assert client.get("/campaigns/nope/live").status_code == 404


def test_of_many_campaigns_those_in_trouble_are_on_the_first_screen():
    with site() as (service, client):
        for number in range(101):
            Campaign(f"c{number:03}", "1.00", {"x": "0.10"}, storage=service.store)
        last = Campaign("c100", storage=service.store)
        last.tell(last.ask(), cost="5.00")
        told = text(client.get("/"))
        assert "c100" in told
        assert "Action needed: check c100." in told
        assert "1 more campaign with older events, within budget, is not shown" in told


def test_an_orphan_of_a_restored_backup_is_shown():
    with site() as (service, client):
        store = service.store
        other = Campaign("llm", "1.00", {"x": "0.10"}, storage=MemoryStore())
        Campaign("llm", "1.00", {"x": "0.10"}, storage=store)
        lost = other.ask()
        campaign = service.campaign("llm")
        token = campaign.token(lost)  # as if this ledger had made it
        campaign.tell(lost.id, cost="0.05", reward=1.0, token=token)
        for path in ("/", "/campaigns/llm", "/campaigns/llm/events"):
            answer = client.get(path)
            assert answer.status_code == 200
            assert "0.05" in text(answer)
        assert "adopted after a backup was restored" in text(client.get("/campaigns/llm/events"))
        assert client.get("/v1/campaigns/llm/series").json()["spent"][-1] == "0.050000"
        assert find_violations(campaign) == []
        assert client.get(f"/campaigns/llm/decisions/{lost.id}").status_code < 500


def test_a_damaged_ledger_does_not_hide_the_others(home, monkeypatch):
    service, client = home
    Campaign("fine", "1.00", {"x": "0.10"}, storage=service.store)
    find = service.campaign

    def damaged(name):
        if name == "llm":
            raise CorruptLedger("event 7 is not what it was")
        return find(name)

    monkeypatch.setattr(service, "campaign", damaged)
    told = text(client.get("/"))
    assert "Action needed: the ledger of llm cannot be read" in told
    assert "fine" in told
    listed = client.get("/v1/campaigns").json()
    assert listed["damaged"] == ["llm"]
    assert "fine" in [one["name"] for one in listed["campaigns"]]


def test_a_notice_stream_has_a_head(home):
    _, client = home
    for path in ("/live", "/campaigns/llm/live"):
        assert client.head(path).headers["content-type"].startswith("text/event-stream")
