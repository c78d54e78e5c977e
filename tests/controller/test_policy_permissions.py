"""PolicyPermissions: the extenders, files and names that the operator's flags allow policies to use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from moorage.api.v1alpha1 import parse_policy
from moorage.controller.policy_permissions import PolicyPermissions
from moorage.settings import Settings

URL = "https://extender.example.com"
TLS_DIR = Path("/run/tls")


def faults(permissions: PolicyPermissions, *extenders: dict[str, Any]) -> dict[str, str]:
    policy = parse_policy({"metadata": {"name": "p", "uid": "u", "generation": 1}, "spec": {"extenders": extenders}})
    return {fault.path: fault.message for fault in permissions.faults_of(policy)}


def extender(url: str = URL, **tls: Any) -> dict[str, Any]:
    secure = {"enableHTTPS": True, "tlsConfig": tls} if tls else {}
    return {"urlPrefix": url, "filterVerb": "filter", **secure}


def permissions(**settings: Any) -> PolicyPermissions:
    return PolicyPermissions.of(Settings(**settings))


def test_no_extender_is_allowed_without_the_flag() -> None:
    (path, message), *others = faults(permissions(), extender()).items()
    assert (path, others) == ("spec.extenders[0].urlPrefix", [])
    assert "--policy-extenders" in message


def test_a_flag_forbids_canaries() -> None:
    spec = {"canary": {"of": "batch", "percent": 10}}
    policy = parse_policy({"metadata": {"name": "p", "uid": "u", "generation": 1}, "spec": spec})
    assert list(permissions().faults_of(policy)) == []
    (fault,) = permissions(forbid_canaries=True).faults_of(policy)
    assert fault.path == "spec.canary"
    assert "--forbid-canaries" in fault.message


def test_each_extender_needs_an_allowed_host() -> None:
    allowed = permissions(policy_extenders=("extender.example.com",))
    assert faults(allowed, extender(), extender(f"{URL}:8443/api")) == {}
    found = faults(allowed, extender(), extender("http://169.254.169.254/latest"))
    assert list(found) == ["spec.extenders[1].urlPrefix"]
    assert "--policy-extenders" in found["spec.extenders[1].urlPrefix"]


@pytest.mark.parametrize("field", ["caFile", "certFile", "keyFile"])
def test_a_file_needs_the_flag_and_a_path_below_the_flags_directory(field: str) -> None:
    hosts = ("extender.example.com",)
    closed = permissions(policy_extenders=hosts)
    opened = permissions(policy_extenders=hosts, policy_extender_tls_dir=TLS_DIR)
    both = {"certFile": "/run/tls/team/tls.crt", "keyFile": "/run/tls/team/tls.key", "caFile": "team/ca.crt"}
    path = f"spec.extenders[0].tlsConfig.{field}"

    assert "--policy-extender-tls-dir" in faults(closed, extender(**both))[path]
    assert faults(opened, extender(**both)) == {}
    for outside in ("/etc/shadow", "/run/tls", "/run/tls/../x", "../x", "/run/tlsx/a", "/dev/zero"):
        found = faults(opened, extender(**{**both, field: outside}))
        assert list(found) == [path]
        assert "/run/tls" in found[path]


def test_tls_data_needs_no_additional_flag() -> None:
    assert faults(permissions(policy_extenders=("extender.example.com",)), extender(caData="YQ==")) == {}


def test_default_scheduler_needs_the_flag() -> None:
    assert "--allow-default-scheduler" in permissions().name_refusal("default-scheduler")
    assert permissions(allow_default_scheduler=True).name_refusal("default-scheduler") == ""
    assert permissions().name_refusal("default-scheduler-2") == ""


def test_reserved_names_are_shell_patterns() -> None:
    reserved = permissions(
        allow_default_scheduler=True, reserved_scheduler_names=("volcano", "team-[ab]-*", "*default*")
    )
    for name in ("volcano", "team-a-x", "team-b-", "default-scheduler", "my-default"):
        assert "--reserved-scheduler-names" in reserved.name_refusal(name)
    for name in ("volcano2", "team-c-x", "Volcano", "gpu"):
        assert reserved.name_refusal(name) == ""
