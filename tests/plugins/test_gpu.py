import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from builders import Object, node, pod, snapshot_of
from moorage.framework.cluster_events import added, updated
from moorage.framework.plugin_arguments import build_plugin
from moorage.framework.status import Code
from moorage.model.node import Node
from moorage.model.pods.pod import Pod
from moorage.plugins.own.gpu import Gpu
from plugin_runs import passes, rejections, scores

NVIDIA, AMD = "nvidia.com/gpu", "amd.com/gpu"


def gpu(**args: object) -> Gpu:
    plugin = build_plugin(Gpu, args, {})
    assert isinstance(plugin, Gpu)
    return plugin


def gpu_node(name: str, count: int, resource: str = NVIDIA, product: str = "") -> Node:
    return node(name, allocatable={resource: str(count)}, labels={"nvidia.com/gpu.product": product} if product else {})


def requesting(count: int, name: str = "p", on: str = "", resource: str = NVIDIA) -> Pod:
    return pod(name, requests={resource: str(count)}, node=on)


CLUSTER = [gpu_node("full", 8), gpu_node("empty", 8), gpu_node("amd", 4, AMD), node("plain")]
PLACED = [requesting(5, "e", on="full")]


def test_gpu_node_scores_low_for_a_pod_that_requests_no_gpu() -> None:
    cluster = snapshot_of(CLUSTER, PLACED)

    assert scores(gpu(), pod(), cluster) == {"full": 10, "empty": 10, "amd": 10, "plain": 50}
    assert set(scores(gpu(podsWithoutGpu="Ignore"), pod(), cluster).values()) == {50}
    assert passes(gpu(), pod(), cluster) == {"full", "empty", "amd", "plain"}


def test_gpu_node_rejects_a_pod_that_requests_no_gpu_if_pods_without_gpu_is_forbid() -> None:
    had_gpus = (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ["node(s) had GPUs that the pod does not ask for"])
    cluster = snapshot_of(CLUSTER)

    assert rejections(gpu(podsWithoutGpu="Forbid"), pod(), cluster) == {
        "full": had_gpus,
        "empty": had_gpus,
        "amd": had_gpus,
        "plain": None,
    }
    assert passes(gpu(podsWithoutGpu="Forbid"), requesting(1), cluster) == {"full", "empty", "amd", "plain"}


@pytest.mark.parametrize(
    ("with_gpu", "expected"),
    [
        ("Pack", {"full": 50 + 50 * 6 // 8, "empty": 50 + 50 * 1 // 8, "amd": 0, "plain": 0}),
        ("Spread", {"full": 50 + 50 * 2 // 8, "empty": 50 + 50 * 7 // 8, "amd": 0, "plain": 0}),
        ("Ignore", {"full": 50, "empty": 50, "amd": 0, "plain": 0}),
        ("LeastFragmentation", {"full": 50, "empty": 50, "amd": 0, "plain": 0}),
    ],
)
def test_gpu_node_scores_by_its_free_gpus_if_the_policy_packs_or_spreads(
    with_gpu: str, expected: dict[str, int]
) -> None:
    assert scores(gpu(podsWithGpu=with_gpu), requesting(1), snapshot_of(CLUSTER, PLACED)) == expected


def test_node_scores_100_if_the_pod_takes_all_free_gpus_and_0_if_too_few_are_free() -> None:
    cluster = snapshot_of(CLUSTER, PLACED)

    assert scores(gpu(), requesting(3), cluster)["full"] == 100
    assert scores(gpu(), requesting(4), cluster)["full"] == 0


def test_node_scores_by_the_gpu_resource_that_the_pod_requests() -> None:
    found = scores(gpu(), requesting(2, resource=AMD), snapshot_of(CLUSTER, PLACED))

    assert found == {"full": 0, "empty": 0, "amd": 75, "plain": 0}


def test_node_has_the_score_of_its_gpu_model_instead_of_a_score_by_free_gpus() -> None:
    plugin = gpu(models={"H100": 10, "T4": 2})
    cluster = snapshot_of(
        [gpu_node("h100", 8, product="H100"), gpu_node("t4", 8, product="T4"), gpu_node("other", 8, product="A10")]
    )

    assert scores(plugin, requesting(4), cluster) == {"h100": 100, "t4": 20, "other": 75}
    assert scores(plugin, requesting(9), cluster) == {"h100": 0, "t4": 0, "other": 0}
    assert scores(plugin, pod(), cluster) == {"h100": 10, "t4": 10, "other": 10}


@pytest.mark.parametrize("args", [{"resources": []}, {"podsWithGpu": "pack"}, {"models": {"H100": 11}}])
def test_invalid_arguments_are_rejected(args: Object) -> None:
    with pytest.raises(ValidationError):
        gpu(**args)


def test_pod_is_queued_if_a_node_is_added_or_its_resources_change() -> None:
    assert gpu().queueing_hint(pod(), added("Node", node()))
    assert gpu().queueing_hint(pod(), updated("Node", gpu_node("n", 8), node("n")))
    assert not gpu().queueing_hint(pod(), updated("Node", node("n"), node("n", labels={"a": "b"})))


@given(
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8), st.sampled_from(["", "H100"])), min_size=1, max_size=5),
    st.integers(0, 4),
    st.sampled_from(["Pack", "Spread", "Ignore"]),
    st.sampled_from(["Avoid", "Ignore"]),
)
def test_score_agrees_with_a_check_of_each_node(
    machines: list[tuple[int, int, str]], wanted: int, with_gpu: str, without_gpu: str
) -> None:
    nodes = [gpu_node(f"n{index}", count, product=model) for index, (count, _, model) in enumerate(machines)]
    placed = [requesting(used, f"e{index}", on=f"n{index}") for index, (_, used, _) in enumerate(machines) if used]
    plugin = gpu(podsWithGpu=with_gpu, podsWithoutGpu=without_gpu, models={"H100": 7})

    def score(count: int, used: int, model: str) -> int:
        if not wanted:
            return 10 if count and without_gpu == "Avoid" else 50
        if used + wanted > count:
            return 0
        if model:
            return 70
        part = {"Pack": used + wanted, "Spread": count - used - wanted, "Ignore": 0}[with_gpu]
        return 50 + 50 * part // count

    expected = {f"n{index}": score(*machine) for index, machine in enumerate(machines)}
    assert scores(plugin, requesting(wanted) if wanted else pod(), snapshot_of(nodes, placed)) == expected
