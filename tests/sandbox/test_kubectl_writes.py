"""kubectl apply, edit and patch against the sandbox."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.kubectl_client import POD, WIDGET, Kubectl


async def test_apply_prints_whether_it_created_or_changed_the_object(kubectl: Kubectl) -> None:
    assert await kubectl.apply(WIDGET % 1) == "widget.example.dev/w created\n"
    assert await kubectl.apply(WIDGET % 1) == "widget.example.dev/w unchanged\n"
    assert await kubectl.apply(WIDGET % 2) == "widget.example.dev/w configured\n"
    assert await kubectl("get", "wd", "w", "-o", "jsonpath={.spec.weight}") == "2"


async def test_second_apply_of_a_pod_changes_nothing(kubectl: Kubectl) -> None:
    assert await kubectl.apply(POD) == "pod/web created\n"
    assert await kubectl.apply(POD) == "pod/web unchanged\n"
    changed = POD.replace("app: web", "app: shop")
    assert await kubectl.apply(changed) == "pod/web configured\n"
    assert await kubectl("get", "pods", "-l", "app=shop", "-o", "name") == "pod/web\n"


async def test_apply_prints_the_path_of_an_unknown_field(kubectl: Kubectl) -> None:
    refused = await kubectl.apply(WIDGET.replace("weight", "wieght") % 1, fails=True)
    assert 'strict decoding error: unknown field "spec.wieght"' in refused


async def test_apply_prints_why_an_object_is_invalid(kubectl: Kubectl) -> None:
    refused = await kubectl.apply(WIDGET % 101, fails=True)
    assert refused.strip() == (
        'The Widget "w" is invalid: spec.weight: Invalid value: 101: '
        "spec.weight in body should be less than or equal to 100"
    )


async def test_server_side_apply_reports_conflicts_and_can_override_them(kubectl: Kubectl) -> None:
    assert await kubectl.apply(WIDGET % 1, "--server-side") == "widget.example.dev/w serverside-applied\n"
    refused = await kubectl.apply(WIDGET % 2, "--server-side", "--field-manager=other", fails=True)
    assert 'conflict with "kubectl": .spec.weight' in refused
    await kubectl.apply(WIDGET % 2, "--server-side", "--field-manager=other", "--force-conflicts")
    assert await kubectl("get", "wd", "w", "-o", "jsonpath={.spec.weight}") == "2"


async def test_server_side_apply_accepts_a_pod_from_client_side_apply(kubectl: Kubectl) -> None:
    await kubectl.apply(POD)
    assert await kubectl.apply(POD, "--server-side") == "pod/web serverside-applied\n"
    assert await kubectl.apply(POD, "--server-side") == "pod/web serverside-applied\n"


async def test_edit_saves_the_changes_of_the_editor(kubectl: Kubectl, tmp_path: Path) -> None:
    await kubectl.apply(WIDGET % 1)
    editor = tmp_path / "editor.sh"
    editor.write_text('#!/bin/sh\nsed -i "s/weight: 1/weight: 33/" "$1"\n')
    editor.chmod(0o700)
    assert await kubectl("edit", "widget", "w", EDITOR=str(editor)) == "widget.example.dev/w edited\n"
    assert await kubectl("get", "wd", "w", "-o", "jsonpath={.spec.weight}") == "33"


@pytest.mark.parametrize(
    ("kind", "patch"),
    [("merge", '{"spec":{"weight":5}}'), ("json", '[{"op":"replace","path":"/spec/weight","value":5}]')],
)
async def test_patch_changes_a_custom_object(kubectl: Kubectl, kind: str, patch: str) -> None:
    await kubectl.apply(WIDGET % 1)
    await kubectl("patch", "widget", "w", f"--type={kind}", f"--patch={patch}")
    assert await kubectl("get", "wd", "w", "-o", "jsonpath={.spec.weight}") == "5"
