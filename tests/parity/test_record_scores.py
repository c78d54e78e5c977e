"""Records of decisions have the scores that kube-scheduler computed."""

from pathlib import Path

import pytest

from moorage.engine.messages import ProfileChanged
from moorage.engine.records.decision_log import DecisionLog
from moorage.engine.records.decision_record import MAX_NODES, DecisionOutcome, DecisionRecord
from moorage.engine.scheduler import Scheduler
from moorage.framework.cluster_events import added
from moorage.framework.registry import Registry
from moorage.model.decode import Decoder
from moorage.simulator.parity.case_cluster import incoming_pod, post_objects, profiles_of
from moorage.simulator.parity.cases import Case, read_cases

VECTORS = Path(__file__).parent / "vectors"
REGISTRY = Registry.discover()
GROUPS = [
    "balanced-allocation", "images", "large", "mixed", "no-fit", "node-affinity", "pod-affinity-preferred",
    "preemption", "scoring-strategies", "spread-default", "spread-soft", "taints",
]  # fmt: skip
FILES = [path for group in GROUPS if (path := VECTORS / f"{group}.jsonl.gz").exists()]


def record_of(case: Case) -> DecisionRecord | None:
    """Let a scheduler try the pod of the case, and return the record; None if the pod is not tried."""
    decoder, log = Decoder(), DecisionLog()
    scheduler = Scheduler(0, log=log)
    for profile in profiles_of(case, REGISTRY):
        scheduler.apply(ProfileChanged(profile), 0.0)
    post_objects(case, scheduler, decoder)
    pod = incoming_pod(case, decoder)
    scheduler.apply(added("Pod", pod), 0.0)
    scheduler.schedule_one(0.0)
    records = log.find(pod.key)
    return records[0] if records else None


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.partition(".")[0])
def test_record_has_the_scores_that_kube_scheduler_computed(path: Path) -> None:
    compared = 0
    for case in read_cases(path):
        expected = case.expected
        if case.given.get("featureGates") or "configError" in expected or "scheduleError" in expected:
            continue
        record = record_of(case)
        if record is None:
            continue
        if "fitErrorMessage" in expected:
            assert record.outcome is DecisionOutcome.UNSCHEDULABLE, case.id
            assert record.message.startswith(expected["fitErrorMessage"]), case.id
        if record.scores is None or expected.get("nominatedOnly"):
            continue
        compared += 1
        check_scores(record, case)
    assert compared > 0 or path.name.startswith(("no-fit", "preemption"))


def check_scores(record: DecisionRecord, case: Case) -> None:
    """Compare the plugin scores of each shown node, and the totals of the chosen nodes, with the vector."""
    expected = case.expected
    assert record.scores is not None
    totals = expected["total"]
    for row in record.scores.nodes:
        found = {
            score.plugin: {"raw": score.raw, "normalized": score.normalized, "weighted": score.weighted}
            for score in row.plugins
        }
        assert found == {plugin: nodes[row.node] for plugin, nodes in expected.get("scores", {}).items()}, case.id
        assert row.total == totals[row.node] == sum(score.weighted for score in row.plugins), case.id
    highest = sorted(totals.values(), reverse=True)
    assert [row.total for row in record.scores.nodes] == highest[:MAX_NODES], case.id
    assert record.node == record.scores.nodes[0].node
    assert record.node in expected["best"], case.id
    assert record.scores.ties == len(expected["best"]), case.id
    assert record.scores.margin == highest[0] - highest[1], case.id
    assert sorted(record.scores.skipped) == sorted(expected.get("skippedScore", [])), case.id
    assert record.fitting_nodes == len(expected["feasible"]), case.id
    assert sum(count.nodes for count in record.filters) == record.total_nodes - record.fitting_nodes, case.id
