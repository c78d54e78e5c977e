"""With an extender, a policy's author cannot read answers of other services, secrets of pods, or files."""

from __future__ import annotations

import logging
import ssl
import threading
from pathlib import Path
from typing import Any

import pytest
import trustme

from extenders.calling import Caller, calling, whole_nodes, whole_pod
from extenders.server import FakeExtender, Misbehaviour, answering, half_a_body, hang_up
from moorage.api.policy_extender import PolicyExtender
from moorage.engine.candidate import Candidate
from moorage.runtime.tls import confined_file

CA = trustme.CA()
SECRET = "s3cr3t"
VERBS = {"filterVerb": "filter", "preemptVerb": "preempt", "bindVerb": "bind"}


def serving() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    CA.issue_cert("localhost").configure_cert(context)
    return context


async def error_of(caller: Caller) -> str:
    return (await caller.extenders.filter_and_prioritize(whole_pod(), whole_nodes("n1"))).error or ""


@pytest.mark.parametrize(
    ("misbehave", "message"),
    [
        (answering(SECRET, status=500), "answered with status 500 instead of 200"),
        (answering(SECRET, status=302), "answered with status 302 instead of 200"),
        (answering(SECRET), "the answer is invalid"),
        (answering([SECRET]), "the answer is invalid"),
        (answering({"NodeNames": [SECRET]}), "the answer is invalid"),
        (answering({"error": SECRET}), "answered with an error; the operator's log has it at level debug"),
        (half_a_body, "the answer ended too early"),
        (hang_up, "closed the connection without an answer"),
    ],
)
async def test_errors_name_only_the_kind_of_the_failure(misbehave: Misbehaviour, message: str) -> None:
    async with FakeExtender(misbehave=misbehave) as extender:
        configuration = {"urlPrefix": extender.url, "nodeCacheCapable": True, **VERBS}
        async with calling(configuration, kind=PolicyExtender) as caller:
            assert await error_of(caller) == f"extender {extender.url}/filter: {message}"
            (health,) = caller.extenders.health().values()
            assert SECRET not in health.error
        assert {call.path for call in extender.asked} == {"/scheduler/filter"}  # no redirect was followed


async def test_errors_about_servers_without_http_name_only_the_kind_of_the_failure() -> None:
    async with FakeExtender(tls=serving()) as extender:
        for url, message in (
            (extender.url, "its certificate cannot be verified"),
            (extender.url.replace("https", "http"), ""),
            ("http://127.0.0.1:1", "cannot connect"),
        ):
            async with calling({"urlPrefix": url, **VERBS}, kind=PolicyExtender) as caller:
                error = await error_of(caller)
                assert error.startswith(f"extender {url}/filter: {message}")
                assert "127.0.0.1" not in error.removeprefix(f"extender {url}")


async def test_the_log_has_the_answer_for_administrators(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "moorage")
    async with (
        FakeExtender(misbehave=answering(SECRET, status=500)) as extender,
        calling({"urlPrefix": extender.url, **VERBS}, kind=PolicyExtender) as caller,
    ):
        await error_of(caller)
    assert SECRET in caplog.text


async def test_pods_and_victims_are_sent_without_their_secrets() -> None:
    container = {"name": "c", "image": "i", "env": [{"name": "TOKEN", "value": SECRET}], "args": [SECRET]}
    fields: dict[str, Any] = {"spec": {"containers": [container]}}
    pod, victim = whole_pod(**fields), whole_pod("v", **fields)
    async with FakeExtender() as extender:
        async with calling({"urlPrefix": extender.url, **VERBS}, kind=PolicyExtender) as caller:
            caller.cluster.objects[victim.uid] = victim.raw
            await caller.extenders.filter_and_prioritize(pod, whole_nodes("n1"))
            await caller.extenders.preempt(
                pod, [Candidate("n1", (victim,), 0)], lambda name, _: Candidate(name, (victim,), 0)
            )
        assert extender.verbs == ["filter", "preempt"]
        assert SECRET not in str([call.body for call in extender.asked])
        (sent,) = extender.asked[1].body["NodeNameToVictims"]["n1"]["Pods"]
        assert (sent["metadata"]["name"], sent["metadata"]["uid"]) == ("v", victim.uid)


async def test_files_below_the_directory_are_read_in_a_thread_and_other_files_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "policies"
    directory.mkdir()
    (directory / "ca.crt").write_bytes(CA.cert_pem.bytes())
    (tmp_path / "ca.crt").write_bytes(CA.cert_pem.bytes())
    (directory / "link").symlink_to("../ca.crt")
    readers = []

    def record(path: Path) -> bytes | None:
        readers.append(threading.current_thread())
        return read(path)

    read = confined_file._read_regular_file
    monkeypatch.setattr(confined_file, "_read_regular_file", record)
    async with FakeExtender(tls=serving()) as extender:
        for path, works in (("ca.crt", True), ("link", False), ("missing", False), ("/dev/zero", False)):
            tls = {"enableHTTPS": True, "tlsConfig": {"caFile": path}}
            configuration = {"urlPrefix": extender.url, **VERBS, **tls}
            async with calling(configuration, kind=PolicyExtender, policy_files=directory) as caller:
                error = await error_of(caller)
            assert (error == "") is works
            assert works or error.endswith(f"it must be a regular file of at most 64 KiB below {directory}")
    assert readers
    assert threading.main_thread() not in readers
