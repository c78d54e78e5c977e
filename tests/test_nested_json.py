"""JSON with more levels than decoders accept."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.nested_json import decode_nested, without_deep_values

LEAVES = st.none() | st.booleans() | st.integers() | st.text()
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=30)


def cut(value: Any, depth: int) -> Any:
    if not isinstance(value, dict | list):
        return value
    if depth == 0:
        return None
    if isinstance(value, list):
        return [cut(inner, depth - 1) for inner in value]
    return {key: cut(inner, depth - 1) for key, inner in value.items()}


@given(value=VALUES, depth=st.integers(0, 4), is_ascii=st.booleans())
def test_deep_values_become_null(*, value: Any, depth: int, is_ascii: bool) -> None:
    text = json.dumps(value, ensure_ascii=is_ascii).encode()
    assert json.loads(without_deep_values(text, depth)) == cut(value, depth)


@pytest.mark.parametrize(
    "text", [rb'["\\", [1], "]"]', rb'["\\\"[", [1], "\\\\\"]"]', rb'{"\u005b\"": {"a": [{}]}}', b"[[],[],{}]"]
)
def test_brackets_in_strings_and_after_escapes_do_not_count(text: bytes) -> None:
    assert json.loads(without_deep_values(text, 1)) == cut(json.loads(text), 1)


def test_text_nested_too_deeply_is_decoded_without_its_deepest_values() -> None:
    deep = b'{"kept": 1, "deep": ' + b'{"a":[' * 5_000 + b"]}" * 5_000 + b', "last": "}"}'
    decoded = decode_nested(msgspec.json.decode, deep)
    assert (decoded["kept"], decoded["last"]) == (1, "}")


@pytest.mark.parametrize("text", [b"{" * 5_000, b"}" * 5_000, b"[" * 5_000 + b"1", b'"' + b"{" * 5_000])
def test_invalid_text_is_an_error_of_the_decoder(text: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_nested(msgspec.json.decode, text)
