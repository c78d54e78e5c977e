from msgspec.structs import replace

from builders import node, pod
from engine.scheduler_driver import add_objects, kube_profile, run_until_idle
from moorage.engine.counterfactuals.counterfactual import ChangeKind, change_to
from moorage.engine.records.decision_log import DecisionLog
from moorage.engine.records.explanation import Explanation
from moorage.engine.records.redaction import namespaces_in, redact
from moorage.engine.scheduler import Scheduler


def explanation() -> Explanation:
    log = DecisionLog()
    scheduler = Scheduler(1, (kube_profile(),), log=log)
    victims = [
        pod(f"v{index}", namespace=namespace, cpu="1", node="n1", priority=1)
        for index, namespace in enumerate(("red", "red", "blue"))
    ]
    add_objects(scheduler, node("n1", cpu="3"), *victims, pod(cpu="3", priority=9))
    run_until_idle(scheduler)
    records = tuple(log.find("default/p"))
    return Explanation(
        namespace="default", name="p", uid="default/p", scheduler_name="s", records=records, now=records[0]
    )


def test_explanation_lists_the_namespaces_of_the_other_pods() -> None:
    assert namespaces_in(explanation()) == {"red", "blue"}


def test_pods_of_other_namespaces_are_counted_and_not_named() -> None:
    found = redact(explanation(), {"blue"})
    for record in (*found.records, found.now):
        assert record is not None
        assert record.preemption is not None
        (considered,) = record.preemption.considered
        assert considered.victims == 3
        assert [each.namespace for each in considered.pods] == ["blue"]
        assert considered.hidden_pods == 2
    assert "v0" not in str(found)


def test_victim_of_a_change_is_named_only_to_readers_of_its_namespace() -> None:
    text = "without the pod secret/db (priority 5)"
    change = change_to(ChangeKind.VICTIM, text, ["n1"], 5, "secret")
    explained = replace(explanation(), changes=(change,))
    assert "secret" in namespaces_in(explained)
    assert redact(explained, {"secret"}).changes == (change,)
    (hidden,) = redact(explained, set()).changes
    assert hidden.text == "without a pod of priority 5 in a namespace that you may not read"
    assert not hidden.victim_namespace


def test_explanation_without_other_pods_is_not_changed() -> None:
    plain = replace(explanation(), records=(), now=None)
    assert redact(plain, set()) == plain
