"""What a service does regularly goes on, whatever one campaign does."""

from __future__ import annotations

import asyncio
import time

import pytest
from hand_clock import live_state
from starlette.testclient import TestClient

from bursar import Campaign
from bursar.campaign.audit import LastVerification, load_verifications, save_verification
from bursar.dashboard import make_pages
from bursar.errors import CorruptLedger
from bursar.ledger.sqlite import SQLiteStore
from bursar.service import Service, ServiceConfig, create_app, maintenance

DAY = 86_400_000_000  # µs


@pytest.fixture
def service(tmp_path):
    """A service with the campaigns ads, llm and web."""
    found = Service(f"sqlite:///{tmp_path / 'a.db'}", ServiceConfig(require_keys=False))
    for name in ("ads", "llm", "web"):
        Campaign(name, "1.00", {"small": "0.10"}, storage=found.store)
        found.campaign(name).ask()
    yield found
    found.close()


def metric(service, name):
    lines = service.metrics.to_text().decode().splitlines()
    [value] = [line.rpartition(" ")[2] for line in lines if line.startswith(f"{name} ")]
    return float(value)


def damage(service, name, seq=2):
    statement = "UPDATE event SET body = CAST(x'7bff7d' AS TEXT) WHERE seq = ?1 AND campaign ="
    service.store.execute(f"{statement} (SELECT id FROM campaign WHERE name = ?2)", seq, name)


def break_llm(monkeypatch, error):
    def fail(campaign, *_):
        if campaign.name == "llm":
            raise error
        seen.append(campaign.name)
        return []

    seen = []
    monkeypatch.setattr(maintenance, "find_violations", fail)
    return seen


@pytest.mark.parametrize("error", [TypeError("odd"), RecursionError(), CorruptLedger("bad")])
def test_13_1_maintenance_survives_any_exception_of_one_campaign(
    service, monkeypatch, caplog, error
):
    with monkeypatch.context() as patched:
        seen = break_llm(patched, error)
        assert asyncio.run(maintenance.check_all(service)) == 0
        assert seen == ["ads", "web"]
    assert metric(service, "bursar_maintenance_failures_total") == 1
    assert "llm cannot be checked" in caplog.text
    [alarm] = service.campaign("llm").alarms
    assert alarm.startswith("llm cannot be checked")
    assert service.campaign("ads").alarms == []
    asyncio.run(maintenance.check_all(service))
    assert service.campaign("llm").alarms == []  # it succeeded


def test_13_1_the_maintenance_task_goes_on(service, monkeypatch):
    calls = []

    def fail(*_):
        calls.append(time.monotonic())
        raise MemoryError

    async def run():
        task = asyncio.create_task(maintenance.run_maintenance(service, every=0.01))
        await asyncio.sleep(0.3)
        assert not task.done()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    monkeypatch.setattr(maintenance, "check_all", fail)
    monkeypatch.setattr(maintenance, "verify_overdue", fail)
    asyncio.run(run())
    assert len(calls) > 4
    # the task may be cancelled between the last failure and its count
    assert len(calls) - 2 <= metric(service, "bursar_maintenance_failures_total") <= len(calls)


def test_13_1_an_alarm_is_shown_over_http_and_on_the_dashboard(service, monkeypatch):
    break_llm(monkeypatch, TypeError("odd"))
    asyncio.run(maintenance.check_all(service))
    with TestClient(create_app(service, make_pages(service)), base_url="http://localhost") as site:
        assert "TypeError('odd')" in site.get("/v1/campaigns/llm").json()["alarms"][0]
        page = site.get("/campaigns/llm")
        assert page.status_code == 200
        assert "cannot be checked" in page.text


def test_13_1_readiness_tells_when_the_writes_of_a_campaign_fail(service, monkeypatch):
    with TestClient(create_app(service), base_url="http://localhost") as site:
        assert site.get("/readyz").json() == {"status": "ready"}
        committer = service.campaign("llm").committer
        with monkeypatch.context() as patched:
            patched.setattr(committer, "clock", None)  # so that no transaction can begin
            for _ in range(3):
                done = site.post("/v1/campaigns/llm/decisions", json={})
                assert done.json()["code"] == "storage-unavailable"
            ready = site.get("/readyz")
            assert ready.status_code == 200  # the other campaigns are served
            assert ready.json() == {"status": "degraded", "failing": "1"}
            text = service.metrics.to_text().decode()
            assert 'bursar_failed_commits{campaign="llm"} ' in text
            assert 'bursar_failed_commits{campaign="ads"} 0.0' in text
        assert site.post("/v1/campaigns/llm/decisions", json={}).status_code == 201
        assert site.get("/readyz").json() == {"status": "ready"}


def test_13_8_logs_are_verified_at_the_start_and_once_a_day(service, monkeypatch):
    verified = []
    verify = Campaign.verify
    monkeypatch.setattr(
        Campaign, "verify", lambda one, **more: (verified.append(one.name), verify(one, **more))
    )
    assert maintenance.verify_overdue(service) == 0
    assert verified == ["ads", "llm", "web"]
    maintenance.verify_overdue(service)
    other = Service(service.store)  # as after a restart, or of another process
    maintenance.verify_overdue(other)
    assert verified == ["ads", "llm", "web"]
    now = time.time_ns() // 1000
    save_verification(service.store, "llm", now - DAY - 1)
    save_verification(service.store, "web", now + DAY)  # by a clock that was wrong
    maintenance.verify_overdue(service)
    assert verified[3:] == ["llm", "web"]
    service.store.put_record("verified", "ads", b"\xff")
    maintenance.verify_overdue(service)
    assert verified[5:] == ["ads"]
    assert abs(load_verifications(service.store)["llm"].at - now) < DAY / 2
    text = service.metrics.to_text().decode()
    assert 'bursar_verified_timestamp_seconds{campaign="llm"} 1' in text


def test_13_8_a_damaged_log_is_counted_and_raises_an_alarm(service, caplog):
    service.campaign("llm")
    damage(service, "llm")
    assert maintenance.verify_overdue(service) == 1
    assert metric(service, "bursar_replay_mismatch_total") == 1
    assert "llm is damaged: event 2 cannot be read" in caplog.text
    [alarm] = service.campaign("llm").alarms
    assert alarm.startswith("the log is damaged: event 2")
    assert "event 2" in load_verifications(service.store)["llm"].error
    assert load_verifications(service.store)["ads"].error == ""
    assert maintenance.verify_overdue(service) == 0  # it is not read again every minute
    assert load_verifications(service.store)["unknown"] == LastVerification()


def test_13_8_a_campaign_that_cannot_be_opened_does_not_hide_the_others(service, tmp_path):
    damage(service, "llm", 1)
    other = Service(SQLiteStore(service.store.url), ServiceConfig(require_keys=False))
    assert maintenance.verify_overdue(other) == 1
    assert maintenance.verify_overdue(other) == 0
    assert asyncio.run(maintenance.check_all(other)) == 0
    text = other.metrics.to_text().decode()
    assert 'bursar_open_holds{campaign="web"} 1.0' in text
    assert 'bursar_spent_units{campaign="llm"} 0.0' in text
    with TestClient(create_app(other, make_pages(other)), base_url="http://localhost") as site:
        assert site.get("/v1/campaigns").json()["damaged"] == ["llm"]
        assert site.get("/v1/campaigns/llm").json()["code"] == "corrupt-ledger"
        assert site.get("/campaigns/web").status_code == 200
        assert site.get("/").status_code == 200
    other.close()


def test_13_8_a_verification_works_in_slices_and_ends_with_the_service(service, monkeypatch):
    campaign = service.campaign("llm")
    campaign.set_budget("1000")
    for _ in range(5):
        campaign.tell_many([{"decision": one, "cost": "0.01"} for one in campaign.ask(200)])
    slept = []
    monkeypatch.setattr(maintenance.time, "sleep", slept.append)
    maintenance.verify_overdue(service)
    assert len(slept) == 10
    assert max(slept) <= 0.5
    save_verification(service.store, "llm", 0)
    monkeypatch.setattr(maintenance.time, "sleep", lambda _: service.stop())
    maintenance.verify_overdue(service)
    assert load_verifications(service.store)["llm"].at == 0  # it did not reach the end


def test_13_low_an_overdrawn_campaign_reads_only_what_is_new(service, monkeypatch):
    campaign = service.campaign("llm")
    campaign.tell(campaign.ask(), "0.10", 0.5)
    campaign.set_budget("0.05")
    assert campaign.state == "overdrawn"
    read, before = [], service.store.read
    monkeypatch.setattr(
        service.store,
        "read",
        lambda name, after=0: (read.append((name, after)), before(name, after))[1],
    )
    for _ in range(3):
        assert asyncio.run(maintenance.check_all(service)) == 0
    seq = campaign.status().seq
    assert [after for name, after in read if name == "llm"] == [0, seq - 1, seq, seq - 1, seq]
    live_state(campaign).spent += 5_000_000
    assert asyncio.run(maintenance.check_all(service)) > 0  # and what it remembers is right
    live_state(campaign).spent -= 5_000_000
    campaign.set_budget("5")
    campaign.set_budget("0.01")
    assert asyncio.run(maintenance.check_all(service)) == 0
    service.explained["llm"].hash = b"another log"
    read.clear()
    assert asyncio.run(maintenance.check_all(service)) == 0
    assert ("llm", 0) in read
