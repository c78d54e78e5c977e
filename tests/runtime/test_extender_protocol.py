"""Requests and answers of the extender protocol, as Go encodes and decodes k8s.io/kube-scheduler/extender/v1."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extenders.calling import whole_nodes, whole_pod
from moorage.engine.candidate import Candidate
from moorage.runtime.extenders.extender_args import encode_args, encode_binding_args, encode_preemption_args
from moorage.runtime.extenders.extender_results import (
    decode_binding_result,
    decode_filter_result,
    decode_host_priorities,
    decode_preemption_result,
)

ASKED = whole_nodes("n1", "n2")


def filtered(answer: Any, *, names_only: bool = True) -> Any:
    return decode_filter_result(json.dumps(answer).encode(), ASKED, names_only=names_only)


def test_a_list_of_too_many_scores_is_refused() -> None:
    with pytest.raises(ValueError, match="the answer has 60000 entries, more than 50000"):
        decode_host_priorities(b"[" + b",".join([b"{}"] * 60_000) + b"]", 1)


def test_a_score_of_many_digits_is_shown_shortened() -> None:
    with pytest.raises(ValueError, match=r"the score 9{24} of node 'n1' is not a whole number"):
        decode_host_priorities(b'[{"Host": "n1", "Score": %s}]' % (b"9" * 100_000), 1)


def test_requests_have_the_keys_that_go_writes() -> None:
    pod = whole_pod()
    names = json.loads(encode_args(pod, ASKED, names_only=True))
    nodes = json.loads(encode_args(pod, ASKED, names_only=False))
    binding = json.loads(encode_binding_args(pod, "n1"))
    victims = [Candidate("n1", (whole_pod("v"),), 2)]
    meta = json.loads(encode_preemption_args(pod, victims, None))
    whole = json.loads(encode_preemption_args(pod, victims, {"default/v": b'{"kind": "Pod"}'}))

    assert names == {"Pod": json.loads(pod.raw), "Nodes": None, "NodeNames": ["n1", "n2"]}
    items = [json.loads(node.raw) for node in ASKED.values()]
    assert nodes == {"Pod": json.loads(pod.raw), "Nodes": {"items": items, "metadata": {}}, "NodeNames": None}
    assert binding == {"PodName": "p", "PodNamespace": "default", "PodUID": "default/p", "Node": "n1"}
    assert meta == {
        "Pod": json.loads(pod.raw),
        "NodeNameToVictims": None,
        "NodeNameToMetaVictims": {"n1": {"Pods": [{"UID": "default/v"}], "NumPDBViolations": 2}},
    }
    assert whole["NodeNameToVictims"] == {"n1": {"Pods": [{"kind": "Pod"}], "NumPDBViolations": 2}}
    assert whole["NodeNameToMetaVictims"] is None


def test_keys_match_in_any_case_and_unknown_keys_are_ignored() -> None:
    answer = filtered({"nodenames": ["n2"], "failedNodes": {"n1": "no"}, "more": [1]})

    assert answer.kept == ("n2",)
    assert answer.failed == {"n1": "no"}


def test_names_are_preferred_to_nodes_if_the_extender_is_cache_capable() -> None:
    both = {"NodeNames": ["n1"], "Nodes": {"items": [{"metadata": {"name": "n2"}}]}}

    assert filtered(both).kept == ("n1",)
    assert filtered(both, names_only=False).kept == ("n2",)
    assert filtered(both | {"NodeNames": None}).kept == ("n2",)


@pytest.mark.parametrize("names_only", [True, False])
def test_an_answer_with_neither_list_keeps_no_node(*, names_only: bool) -> None:
    assert filtered({}, names_only=names_only).kept == ()
    assert filtered({"Nodes": {"items": None}}, names_only=names_only).kept == ()


def test_names_instead_of_nodes_are_an_error_that_names_the_field_to_set() -> None:
    with pytest.raises(ValueError, match="nodeCacheCapable"):
        filtered({"NodeNames": ["n1"]}, names_only=False)


def test_an_answer_that_names_a_node_twice_puts_the_node_into_one_list() -> None:
    answer = filtered(
        {
            "NodeNames": ["n2"],
            "FailedNodes": {"n1": "perhaps", "n2": "really", "elsewhere": "who cares"},
            "FailedAndUnresolvableNodes": {"n1": "never"},
        }
    )

    assert answer.kept == ("n2",)
    assert answer.failed == {}
    assert answer.unresolvable == {"n1": "never"}


@pytest.mark.parametrize("score", ["5.0", '"5"', "true", "9223372036854775808", "[]"])
def test_a_score_must_be_a_whole_number(score: str) -> None:
    with pytest.raises(ValueError, match="of node 'n1' is not a whole number"):
        decode_host_priorities(b'[{"Host": "n1", "Score": %s}]' % score.encode(), 1)


@pytest.mark.parametrize("score", [2**63 - 1, -(2**63), 2**58 // 10 + 1])
def test_scores_that_could_overflow_a_total_are_refused(score: int) -> None:
    with pytest.raises(ValueError, match=f"the score {score} of node 'n1', times 10 for its weight, is too large"):
        decode_host_priorities(b'[{"Host": "n1", "Score": %d}]' % score, 10)


def test_scores_outside_0_to_10_are_accepted() -> None:
    answer = b'[{"Host": "n1", "Score": -5}, {"Host": "n2", "Score": 1000}]'

    assert decode_host_priorities(answer, 10) == {"n1": -50, "n2": 10000}


def test_scores_of_one_node_add_up_and_null_is_zero() -> None:
    answer = b'[{"Host": "n1", "Score": 3}, {"host": "n1", "score": 4}, {"Host": "n2", "Score": null}, {"Host": "n3"}]'

    assert decode_host_priorities(answer, 1) == {"n1": 7, "n2": 0, "n3": 0}
    assert decode_host_priorities(b"null", 1) == {}


def test_the_error_of_a_bind_answer_is_returned() -> None:
    assert decode_binding_result(b'{"Error": ""}') == ""
    assert decode_binding_result(b"{}") == ""
    assert decode_binding_result(b'{"error": "full"}') == "full"
    with pytest.raises(ValueError, match="the answer cannot be decoded"):
        decode_binding_result(b"null")


def test_an_answer_without_candidates_keeps_no_candidate() -> None:
    assert (
        decode_preemption_result(b'{"NodeNameToMetaVictims": null}', [], lambda name, _: Candidate(name, (), 0)) == []
    )


KEYS = ["NodeNames", "Nodes", "FailedNodes", "Error", "Host", "Score", "NodeNameToMetaVictims", "Pods", "UID", "n1"]
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=3)
    | st.sampled_from(KEYS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)
BODIES = (
    JSON.map(lambda answer: json.dumps(answer).encode())
    | st.binary(max_size=20)
    | st.just(b'{"Error":' + b"[" * 99_999)
)


def test_reasons_become_short_printable_lines() -> None:
    hostile = "full\n0/9 nodes\x1b[0m " + "x" * 5000
    answer = filtered({"NodeNames": [], "FailedNodes": {"n1": hostile}, "FailedAndUnresolvableNodes": {"n2": hostile}})
    for reason in (answer.failed["n1"], answer.unresolvable["n2"]):
        assert reason.startswith("full 0/9 nodes xxx")
        assert len(reason) == 256


@given(BODIES, st.booleans())
def test_any_body_is_decoded_or_raises_value_error(body: bytes, names_only: bool) -> None:  # noqa: FBT001
    candidates = [Candidate("n1", (), 0)]
    for read in (
        lambda: decode_filter_result(body, ASKED, names_only=names_only),
        lambda: decode_host_priorities(body, 1),
        lambda: decode_binding_result(body),
        lambda: decode_preemption_result(body, candidates, lambda name, _: Candidate(name, (), 0)),
    ):
        with contextlib.suppress(ValueError):
            read()
