"""moorage reads a configuration file in all forms of YAML and JSON that kube-scheduler reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from configuration.forms import HEADER, JSON, OVERRIDING, READ, REFUSED, STRICTER, Form, Refusal
from moorage.configuration.content_reader import read_content
from moorage.configuration.loading import KubeSchedulerConfiguration, load
from moorage.configuration.text_decoding import decode
from moorage.configuration.yaml_reader import read_yaml
from moorage.errors import ConfigurationError

ACCEPTED = READ | OVERRIDING
FAULTY = REFUSED | STRICTER


def loaded(content: bytes) -> KubeSchedulerConfiguration:
    return load(decode(content, Path("file")), known_plugins=(), allow_default_scheduler=True).configuration


@pytest.mark.parametrize("form", ACCEPTED.values(), ids=ACCEPTED)
def test_the_loader_reads_the_form(form: Form) -> None:
    configuration = loaded(form.content)

    assert configuration.parallelism == form.parallelism
    assert tuple(profile.scheduler_name for profile in configuration.profiles) == form.profiles


@pytest.mark.parametrize("refusal", FAULTY.values(), ids=FAULTY)
def test_the_loader_refuses_the_text_with_a_readable_message(refusal: Refusal) -> None:
    with pytest.raises(ConfigurationError) as caught:
        loaded(refusal.content)

    messages = [str(fault) for fault in caught.value.faults]
    assert any(refusal.message in message for message in messages), messages
    assert all("\n" not in message and "Node(" not in message for message in messages)


def test_a_fault_in_a_merged_field_has_the_line_where_the_field_is_written() -> None:
    text = HEADER + "profiles:\n- &a\n  percentageOfNodesToScore: 101\n- <<: *a\n  schedulerName: b\n"
    with pytest.raises(ConfigurationError) as caught:
        loaded(text.encode())

    assert [(fault.line, fault.path) for fault in caught.value.faults] == [
        (4, "profiles[0].schedulerName"),
        (5, "profiles[0].percentageOfNodesToScore"),
        (5, "profiles[1].percentageOfNodesToScore"),
    ]


def test_faults_in_json_have_lines() -> None:
    profiles = '[\n{"schedulerName": "a"},\n{"schedulerName": 3}]'
    with pytest.raises(ConfigurationError) as caught:
        loaded(f'{JSON},\n"parallelism": 0,\n"profiles": {profiles}}}'.encode())

    assert [(fault.line, fault.path) for fault in caught.value.faults] == [
        (3, "parallelism"),
        (6, "profiles[1].schedulerName"),
    ]


def test_a_null_in_the_mapping_itself_overrides_a_merged_field() -> None:
    text = HEADER + "profiles: [{<<: {percentageOfNodesToScore: 7}, percentageOfNodesToScore: ~}]\n"

    assert loaded(text.encode()).profiles[0].percentage_of_nodes_to_score is None


# A byte order mark in a field name of YAML is a fault.
FIELD_NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufeff"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(FIELD_NAMES, inner, max_size=4),
    max_leaves=20,
)


WRITTEN = st.builds(
    json.dumps,
    st.dictionaries(FIELD_NAMES, VALUES),
    indent=st.sampled_from([None, 0, 2, "\t"]),
    ensure_ascii=st.booleans(),
)


@given(text=WRITTEN)
def test_the_json_reader_returns_the_same_values_as_the_standard_library(text: str) -> None:
    assert read_content(text).content == json.loads(text)


@given(content=st.dictionaries(FIELD_NAMES, VALUES))
def test_the_yaml_reader_reads_texts_that_pyyaml_writes(content: dict[str, Any]) -> None:
    # All scalars are quoted or tagged: go-yaml and PyYAML read some plain scalars, such as `y`, as different types.
    text = yaml.safe_dump(content, default_style='"')

    assert read_yaml(text).content == content
