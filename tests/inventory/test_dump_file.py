"""A dump file is read as it was written. The error for a damaged or edited file names the place of the damage."""

from __future__ import annotations

import gzip
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders import node_object, pod_object
from moorage.errors import UnusableDump
from moorage.inventory import Inventory, cluster_events, read_dump, write_dump
from moorage.model.decode import Decoder

POLICY = {"kind": "SchedulingPolicy", "metadata": {"name": "spot"}, "spec": {"weights": {"ImageLocality": 2}}}


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.gz"
    write_dump(Inventory.of([POLICY, node_object("n1"), node_object("n2"), pod_object("a")]), path)
    return path


def edit(path: Path, change: Callable[[list[bytes]], list[bytes]]) -> None:
    lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    path.write_bytes(gzip.compress(b"".join(change(lines))))


def refusal(path: Path) -> str:
    with pytest.raises(UnusableDump) as caught:
        list(cluster_events(read_dump(path), Decoder()))
    return str(caught.value)


def test_dump_has_the_objects_the_time_the_version_and_the_kinds_that_were_not_listed(tmp_path: Path) -> None:
    bodies = [POLICY, node_object("n1"), pod_object("a"), pod_object("b", namespace="team")]
    inventory = Inventory.of(bodies)
    path = tmp_path / "x.gz"

    size = write_dump(
        Inventory(
            objects=inventory.objects,
            unlisted={"DeviceClass": "forbidden"},
            taken="2026-05-01T12:00:00Z",
            api_server="v1.36.1",
        ),
        path,
    )

    found = read_dump(path)
    assert {kind: list(raws) for kind, raws in found.objects.items() if raws} == inventory.objects
    assert found.counts == {"SchedulingPolicy": 1, "Node": 1, "Pod": 2}
    assert (found.taken, found.api_server, found.unlisted) == (
        "2026-05-01T12:00:00Z",
        "v1.36.1",
        {"DeviceClass": "forbidden"},
    )
    assert found.moorage
    assert [each["metadata"]["name"] for each in found.policies] == ["spot"]
    assert size == path.stat().st_size
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_equal_inventories_make_equal_files(tmp_path: Path) -> None:
    inventory = Inventory.of([node_object("n1")])
    write_dump(inventory, tmp_path / "a")
    write_dump(inventory, tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.floats(0, 1, exclude_max=True))
def test_file_that_is_cut_anywhere_is_refused(dump: Path, part: float) -> None:
    whole = dump.read_bytes()
    cut = dump.with_suffix(".cut")
    cut.write_bytes(whole[: int(len(whole) * part)])
    assert str(cut) in refusal(cut)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(min_value=10), st.integers(1, 255))
def test_file_with_a_changed_byte_is_refused_or_reads_the_same(dump: Path, place: int, change: int) -> None:
    whole = bytearray(dump.read_bytes())
    whole[10 + place % (len(whole) - 10)] ^= change
    broken = dump.with_suffix(".broken")
    broken.write_bytes(bytes(whole))
    try:
        found = read_dump(broken)
    except UnusableDump:
        return
    assert found == read_dump(dump)


def test_other_format_names_both_versions(dump: Path) -> None:
    edit(dump, lambda lines: [lines[0].replace(b'"moorageDump":1', b'"moorageDump":7'), *lines[1:]])
    assert "has the format 7" in refusal(dump)
    assert "reads the format 1" in refusal(dump)


def test_file_that_is_not_a_dump_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("apiVersion: v1\n")
    assert "is not a dump" in refusal(path)
    path.write_bytes(gzip.compress(b'{"kind": "Pod"}\n'))
    assert "line 1 is not a header" in refusal(path)


def test_removed_object_is_noticed(dump: Path) -> None:
    edit(dump, lambda lines: [line for line in lines if b'"n2"' not in line])
    assert "line 5 counts 2 objects of the kind Node, but the file has 1" in refusal(dump)


def test_missing_end_is_noticed(dump: Path) -> None:
    edit(dump, lambda lines: lines[:-1])
    assert "is cut off after line 5" in refusal(dump)


def test_line_after_the_end_is_noticed(dump: Path) -> None:
    edit(dump, lambda lines: [*lines, lines[1]])
    assert "line 7 follows the line that ends the dump" in refusal(dump)


def test_deep_nesting_is_refused(dump: Path) -> None:
    deep = b'{"kind": "Node", "metadata": {"name": "n1"}, "x": ' + b"[" * 5_000 + b"]" * 5_000 + b"}\n"
    edit(dump, lambda lines: [lines[0], deep, *lines[1:]])
    assert "is nested too deeply; take a new dump" in refusal(dump)


def test_broken_line_is_named(dump: Path) -> None:
    edit(dump, lambda lines: [*lines[:2], b"{oops\n", *lines[3:]])
    assert "line 3 is not an object" in refusal(dump)


def test_unknown_kind_is_named(dump: Path) -> None:
    edit(dump, lambda lines: [*lines[:2], b'{"kind": "Secret"}\n', *lines[2:]])
    assert "line 3 has the kind 'Secret'" in refusal(dump)


def test_object_that_was_edited_wrongly_is_named_by_line_and_name(dump: Path) -> None:
    edit(dump, lambda lines: [line.replace(b'"cpu":"4"', b'"cpu":[4]') if b'"n2"' in line else line for line in lines])
    assert "line 4: Node n2 cannot be read: Expected" in refusal(dump)


def test_invalid_object_can_be_skipped_with_a_message(dump: Path) -> None:
    edit(dump, lambda lines: [line.replace(b'"cpu":"4"', b'"cpu":[4]') if b'"n2"' in line else line for line in lines])
    skipped: list[str] = []
    names = [each.new.name for each in cluster_events(read_dump(dump), Decoder(), skipped.append)]
    assert names == ["n1", "a"]
    assert len(skipped) == 1


def test_failed_write_keeps_the_older_file(dump: Path) -> None:
    before = dump.read_bytes()
    with pytest.raises(TypeError):
        write_dump(Inventory(objects={"Node": ["text"]}), dump)  # type: ignore[list-item]
    assert dump.read_bytes() == before
    assert list(dump.parent.iterdir()) == [dump]
