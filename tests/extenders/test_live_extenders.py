"""Extenders of policies in a running operator: placements, conditions and events."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme

from e2e.case import Case, case_of
from e2e.clusters import eventually
from e2e.served import served
from extenders.server import FakeExtender, answering, threaded
from processes import moorage

pytestmark = [pytest.mark.slow, pytest.mark.tls]

CA = trustme.CA()
SOON = 15.0
"""The limit in seconds for steps that take one or two backoffs."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Case]:
    """An embedded API server with four equal nodes, and an operator."""
    directory = tmp_path_factory.mktemp("extenders")
    with (
        served(directory) as api,
        moorage(
            api.cluster.kubeconfig,
            directory,
            api.cluster.ports,
            f"--policy-extender-tls-dir={tls_directory(directory)}",
        ),
        case_of(api.cluster, "extended") as case,
    ):
        yield case


def tls_directory(directory: Path) -> Path:
    """Return the directory for files of policies. It has a Secret as the kubelet mounts it, and a link to a device."""
    mounted = directory / "policies" / "team"
    (mounted / "..1").mkdir(parents=True)
    (mounted / "..1" / "ca.crt").write_bytes(CA.cert_pem.bytes())
    (mounted / "..data").symlink_to("..1")
    (mounted / "ca.crt").symlink_to("..data/ca.crt")
    (mounted / "zero").symlink_to("/dev/zero")
    return mounted.parent


@pytest.fixture
def extender() -> Iterator[FakeExtender]:
    with threaded(FakeExtender()) as extender:
        yield extender


def case_called(world: Case, name: str) -> Case:
    return Case(world.cluster, world.reader, name)


def nodes_of(case: Case) -> list[str]:
    return sorted(node["metadata"]["name"] for node in case.reader.read("/api/v1/nodes")["items"])


def entry(extender: FakeExtender, **fields: Any) -> dict[str, Any]:
    return {"urlPrefix": extender.url, "filterVerb": "filter", "httpTimeout": "1s", **fields}


@pytest.mark.parametrize("names_only", [True, False])
def test_an_extender_filters_and_scores_nodes(world: Case, extender: FakeExtender, *, names_only: bool) -> None:
    case = case_called(world, f"decides-{names_only}".lower())
    first, second, third, _ = nodes_of(case)
    extender.verdicts = {first: "is not mine"}
    extender.scores = {third: 10, second: 1}
    ranking = {"prioritizeVerb": "prioritize", "weight": 100}
    case.make_live(extenders=[entry(extender, nodeCacheCapable=names_only, **ranking)])
    case.cluster.apply(case.pod("p"))

    assert case.wait_until_bound("p", SOON) == third
    question = extender.asked[0].body
    assert (question["NodeNames"] is None, question["Nodes"] is None) == (not names_only, names_only)
    assert question["Pod"]["spec"]["schedulerName"] == case.name


def test_an_extenders_reason_is_in_the_pods_event(world: Case, extender: FakeExtender) -> None:
    case = case_called(world, "refuses")
    extender.unresolvable = dict.fromkeys(nodes_of(case), "no licence left")
    case.make_live(extenders=[entry(extender, nodeCacheCapable=True)])
    case.cluster.apply(case.pod("p"))

    assert case.wait_for_event("p", "FailedScheduling", seconds=SOON).startswith(
        "0/4 nodes are available: 4 no licence left."
    )


def test_a_hanging_extender_degrades_its_policy_but_delays_no_other_policy(world: Case, extender: FakeExtender) -> None:
    case, other = case_called(world, "hangs"), case_called(world, "healthy")
    extender.misbehave = extender.never
    case.make_live(extenders=[entry(extender)], backoff={"initialSeconds": 1, "maxSeconds": 1})
    other.make_live()
    case.cluster.apply(*(case.pod(f"p{number}") for number in range(30)), other.pod("p"))

    assert other.wait_until_bound("p")
    assert f"extender {extender.url}/filter: no answer within 1 s" in case.wait_for_event(
        "p0", "FailedScheduling", seconds=SOON
    )
    eventually(lambda: case.policy_conditions()["Degraded"]["reason"] == "ExtenderFailing", SOON)
    assert extender.url in case.policy_conditions()["Degraded"]["message"]

    extender.misbehave = None
    assert case.wait_until_bound("p0", 2 * SOON)
    eventually(lambda: case.policy_conditions()["Degraded"]["status"] == "False", SOON)


def test_an_invalid_answer_fails_the_attempt_and_an_ignorable_extender_is_skipped(
    world: Case, extender: FakeExtender
) -> None:
    strict, lenient = case_called(world, "strict"), case_called(world, "lenient")
    extender.misbehave = answering({"NodeNames": ["nowhere"]})
    strict.make_live(extenders=[entry(extender, nodeCacheCapable=True)])
    lenient.make_live(extenders=[entry(extender, nodeCacheCapable=True, ignorable=True)])
    strict.cluster.apply(strict.pod("p"), lenient.pod("p"))

    assert lenient.wait_until_bound("p", SOON)
    note = strict.wait_for_event("p", "FailedScheduling", seconds=SOON)
    assert note.endswith("/filter: the answer is invalid")
    condition = strict.pod_conditions("p")["PodScheduled"]
    assert (condition["status"], condition["reason"]) == ("False", "SchedulerError")


def test_an_extender_on_a_host_that_is_not_allowed_is_refused_and_never_called(
    world: Case, extender: FakeExtender
) -> None:
    case = case_called(world, "elsewhere")
    url = extender.url.replace("127.0.0.1", "127.0.0.2").replace("localhost", "127.0.0.2")
    case.cluster.apply(case.policy(extenders=[{"urlPrefix": url, "filterVerb": "filter"}]), case.pod("p"))

    eventually(lambda: case.policy_conditions()["Accepted"]["status"] == "False")
    accepted = case.policy_conditions()["Accepted"]
    assert accepted["reason"] == "NotAllowed"
    assert accepted["message"].startswith("spec.extenders[0].urlPrefix: ")
    assert "--policy-extenders" in accepted["message"]
    assert "--policy-extenders" in case.wait_for_event("p", "SchedulingPolicyRefused", seconds=SOON)
    assert extender.asked == []


def test_status_and_events_show_nothing_of_an_invalid_answer_of_an_extender(
    world: Case, extender: FakeExtender
) -> None:
    case = case_called(world, "curious")
    extender.misbehave = answering({"password": "SECRET-1", "Error": "SECRET-2"})
    case.make_live(extenders=[entry(extender)])
    case.cluster.apply(case.pod("p"))
    case.wait_for_event("p", "FailedScheduling", seconds=SOON)
    extender.misbehave = answering("SECRET-3", status=500)
    eventually(lambda: "status 500" in case.pod_conditions("p")["PodScheduled"]["message"], SOON)
    eventually(lambda: case.policy_conditions()["Degraded"]["status"] == "True", SOON)

    seen = [case.get_policy(), case.get_pod("p"), case.notes("p", "FailedScheduling")]
    assert "SECRET" not in str(seen)


def test_extenders_read_mounted_secrets_but_no_files_outside_the_directory(
    world: Case,
) -> None:
    good, bad = case_called(world, "files"), case_called(world, "trap")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    CA.issue_cert("localhost").configure_cert(tls)
    with threaded(FakeExtender(tls=tls)) as extender:
        for case, file in ((good, "team/ca.crt"), (bad, "team/zero")):
            case.make_live(extenders=[entry(extender, enableHTTPS=True, tlsConfig={"caFile": file})])
        bad.cluster.apply(bad.pod("p"))
        note = bad.wait_for_event("p", "FailedScheduling", seconds=SOON)
        assert "tlsConfig.caFile names no readable PEM file; it must be a regular file of at most 64 KiB below" in note
        good.cluster.apply(good.pod("p"))
        assert good.wait_until_bound("p", SOON)


def test_invalid_ca_data_is_refused_with_its_field(world: Case) -> None:
    case = case_called(world, "no-ca")
    tls = {"enableHTTPS": True, "tlsConfig": {"caData": "aGVsbG8="}}
    case.cluster.apply(case.policy(extenders=[{"urlPrefix": "https://extender", "filterVerb": "filter", **tls}]))

    eventually(lambda: case.policy_conditions()["Accepted"]["status"] == "False")
    accepted = case.policy_conditions()["Accepted"]
    assert accepted["reason"] == "InvalidSpec"
    assert "spec.extenders[0].tlsConfig.caData: holds no PEM" in accepted["message"]
