"""Values in requests and responses: quantities, ages, JSON paths, events and protobuf messages."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.model.quantity import nano_value
from moorage.sandbox.http import jsonpath, protobuf
from moorage.sandbox.http.table_rows import duration
from moorage.sandbox.kinds.event_versions import to_core, to_modern
from moorage.sandbox.kinds.quantities import canonical
from moorage.sandbox.kinds.schemas import Schemas
from moorage.sandbox.kinds.served_resources import ServedResources


@pytest.mark.parametrize(
    ("given_as", "expected"),
    [
        ("1", "1"),
        (1, "1"),
        (0.5, "500m"),
        ("1000m", "1"),
        ("1500m", "1500m"),
        ("1024Mi", "1Gi"),
        ("1Ki", "1Ki"),
        ("1.5Gi", "1536Mi"),
        ("1000000", "1M"),
        ("0", "0"),
        ("1e3", "1e3"),
        ("100n", "100n"),
    ],
)
def test_canonical_returns_the_canonical_form(given_as: Any, expected: str) -> None:
    assert canonical(given_as) == expected


@given(number=st.integers(0, 10**12), suffix=st.sampled_from(["", "m", "k", "M", "Ki", "Mi", "Gi"]))
def test_canonical_form_keeps_the_value_and_is_stable(number: int, suffix: str) -> None:
    found = canonical(f"{number}{suffix}")
    assert nano_value(found) == nano_value(f"{number}{suffix}")
    assert canonical(found) == found


@pytest.mark.parametrize("text", ["", "1 Gi", "x", "--1", "1Kib", "1e", "NaN"])
def test_canonical_raises_value_error_for_a_malformed_quantity(text: str) -> None:
    with pytest.raises(ValueError, match="quantities must match the regular expression"):
        canonical(text)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (-5, "<invalid>"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (185, "3m5s"),
        (600, "10m"),
        (3 * 3600, "3h"),
        (4 * 3600 + 300, "4h5m"),
        (30 * 3600, "30h"),
        (50 * 3600, "2d2h"),
        (20 * 86400, "20d"),
        (3 * 365 * 86400 + 86400, "3y1d"),
        (10 * 365 * 86400, "10y"),
    ],
)
def test_duration_has_the_format_of_kubectl(seconds: int, expected: str) -> None:
    assert duration(seconds) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".spec.a", [1]),
        (".spec.none", []),
        (".items[0].name", ["p"]),
        (".items[-1].name", ["q"]),
        (".items[*].name", ["p", "q"]),
        (".items[5].name", []),
        ('.items[?(@.name=="q")].value', [2]),
        (".labels['a.b/c']", ["x"]),
        (".labels.a\\.b/c", ["x"]),
        (".spec.a.b", []),
    ],
)
def test_json_path_finds_values(path: str, expected: list[Any]) -> None:
    items = [{"name": "p", "value": 1}, {"name": "q", "value": 2}]
    assert jsonpath.evaluate({"spec": {"a": 1}, "items": items, "labels": {"a.b/c": "x"}}, path) == expected


def test_event_is_equal_after_both_conversions() -> None:
    modern = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "note": "x",
        "regarding": {"name": "p"},
        "eventTime": "t",
    }
    there = to_core(modern)
    assert (there["message"], there["involvedObject"], there["apiVersion"]) == ("x", {"name": "p"}, "v1")
    back = to_modern(there)
    assert {name: back[name] for name in modern} == modern


@given(data=st.binary(max_size=40))
def test_decode_raises_an_error_for_damaged_protobuf(data: bytes) -> None:
    try:
        protobuf.decode(protobuf.MAGIC + data)
    except (ValueError, protobuf.UnknownMessageError):
        return
    pytest.fail("forty random bytes were decoded as an object")


def test_all_served_kinds_have_a_schema() -> None:
    schemas = Schemas()
    assert [kind for kind in ServedResources() if schemas.builtin(kind.group, kind.version, kind.kind) is None] == []
