"""The shares of requests among pods. Newer pods have more weight."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import pod
from moorage.cluster.request_mix import HALF_LIFE_PODS, MAX_REQUESTS, RENEWAL_PODS, PodRequest, RequestMix, request_of
from moorage.model.pods.pod import PodShape

SMALL, LARGE = pod(cpu="1").shape, pod(cpu="8", memory="1Gi").shape


def shares_of(mix: RequestMix) -> dict[int, float]:
    """Return the share of each requested amount of cpu."""
    return {request.amount("cpu"): share for request, share in mix.shares}


def learned(*shapes: PodShape, new: int = 0, of: PodShape = SMALL) -> RequestMix:
    """Return a mix that starts with `shapes` and then counts `new` pods of the shape `of`."""
    mix = RequestMix()
    mix.start(shapes)
    for _ in range(new):
        mix.count(of)
    return mix


def test_request_has_the_amounts_and_the_node_selection_of_the_pod() -> None:
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}]
            }
        }
    }
    selecting = pod(cpu="1", requests={"nvidia.com/gpu": "2"}, affinity=affinity, spec={"nodeSelector": {"a": "b"}})

    request = request_of(selecting.shape)

    assert request.amounts == (("cpu", 1000), ("nvidia.com/gpu", 2))
    assert request.node_selector == (("a", "b"),)
    assert request.required is not None
    assert request.amount("memory") == 0


def test_pods_that_exist_at_the_start_have_equal_weights() -> None:
    assert shares_of(learned(SMALL, LARGE, LARGE, LARGE)) == {8000: 0.75, 1000: 0.25}


def test_new_pods_are_published_after_fifty() -> None:
    mix = learned(LARGE, new=RENEWAL_PODS - 1)
    generation = mix.generation
    assert shares_of(mix) == {8000: 1}

    mix.count(SMALL)

    assert mix.generation == generation + 1
    assert list(shares_of(mix)) == [1000, 8000]
    assert sum(shares_of(mix).values()) == pytest.approx(1)


def test_weight_of_a_pod_halves_after_as_many_pods_as_the_half_life() -> None:
    old = HALF_LIFE_PODS
    mix = learned(*[LARGE] * old, new=HALF_LIFE_PODS)
    # The weight of a new pod grows with each pod, and doubles over HALF_LIFE_PODS pods. The last weight is 2.
    ratio = 2 ** (1 / HALF_LIFE_PODS)
    new = 2 * (1 - 1 / 2) / (1 - 1 / ratio)
    assert shares_of(mix)[8000] == pytest.approx(old / (old + new), abs=0.05)


def test_weights_stay_finite_after_many_half_lives() -> None:
    mix = learned(SMALL, new=40 * HALF_LIFE_PODS, of=LARGE)
    assert shares_of(mix)[8000] == pytest.approx(1)


def test_rare_requests_are_dropped_if_there_are_too_many_requests() -> None:
    common = [SMALL] * 3
    mix = learned(*common, *(pod(cpu=f"{2000 + number}m").shape for number in range(MAX_REQUESTS + 10)))
    assert len(mix.shares) <= MAX_REQUESTS
    assert shares_of(mix)[1000] == max(shares_of(mix).values())
    assert sum(shares_of(mix).values()) == pytest.approx(1)


def test_a_mix_that_is_not_started_counts_no_pod() -> None:
    mix = RequestMix()
    for _ in range(2 * RENEWAL_PODS):
        mix.count(SMALL)
    assert (mix.shares, mix.generation) == ((), 0)


def test_a_stopped_mix_is_empty_and_can_start_again() -> None:
    mix = learned(SMALL, new=10)
    mix.stop()
    assert mix.shares == ()
    mix.start([LARGE])
    assert shares_of(mix) == {8000: 1}


@given(st.lists(st.sampled_from([SMALL, LARGE]), max_size=8), st.randoms())
def test_shares_of_existing_pods_do_not_depend_on_their_order(shapes: list[PodShape], random: object) -> None:
    shuffled = list(shapes)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert learned(*shapes).shares == learned(*shuffled).shares


def test_equal_requests_of_different_shapes_are_one_request() -> None:
    mix = learned(pod(cpu="1", labels={"a": "1"}).shape, pod(cpu="1", labels={"a": "2"}).shape)
    assert mix.shares == ((PodRequest((("cpu", 1000),)), 1.0),)
