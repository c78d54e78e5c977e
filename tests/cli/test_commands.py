"""The output and exit status of each command. The tests run command lines in this process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from cli.command_line import Ended, Run
from moorage import __version__
from moorage.cli.application import build_app
from moorage.configuration.loading import load
from moorage.configuration.process_configuration import configure
from moorage.framework.registry import Registry
from moorage.settings import Settings

FILE = Path(__file__).parents[2] / "examples" / "07-scheduler-config" / "config.yaml"
COMMANDS = (
    "run",
    "why",
    "demo",
    "sandbox",
    "dump",
    "lint",
    "test",
    "crd",
    "plugins",
    "config view",
    "import",
    "parity",
    "version",
)
REGISTRY = Registry.discover()


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_the_help_fits_80_columns_without_truncation(command: str, flag: str) -> None:
    shown = CliRunner().invoke(build_app(), [*command.split(), flag], terminal_width=80, prog_name="moorage").output
    assert shown.startswith(f"Usage: moorage {command}")
    assert max(map(len, shown.splitlines())) <= 80
    assert "…" not in shown
    assert "--help" in shown


def test_version_is_a_flag_and_a_command(moorage: Run) -> None:
    assert moorage("--version") == moorage("version") == Ended(0, f"moorage {__version__}\n", "")


def test_the_command_plugins_prints_full_names(moorage: Run) -> None:
    lines = moorage("plugins").out.splitlines()
    assert {line.split()[0] for line in lines[1:]} == set(REGISTRY.classes)
    assert lines[0].split()[:3] == ["plugin", "weight", "default"]


def test_the_command_plugins_prints_arguments_as_json(moorage: Run) -> None:
    listed = {row["name"]: row for row in json.loads(moorage("plugins", "-o", "json").out)}
    assert listed["TaintToleration"]["arguments"] == []
    spread = {argument["name"]: argument for argument in listed["ZoneSpread"]["arguments"]}
    assert spread["maxSkew"] == {"name": "maxSkew", "type": "integer", "default": 1}
    assert spread["scope"] == {"name": "scope", "type": "Workload | Namespace", "default": "Workload"}
    assert listed["NodeResourcesFit"]["extensionPoints"] == ["preFilter", "filter", "preScore", "score"]


@pytest.mark.parametrize("named", [(FILE,), ("--config", FILE)])
def test_config_view_prints_an_equivalent_configuration_file(moorage: Run, named: tuple[str | Path, ...]) -> None:
    viewed = moorage("config", "view", *named, "--allow-default-scheduler")
    assert viewed.status == 0

    def profiles(text: str) -> list[dict[str, object]]:
        loaded = load(text, known_plugins=REGISTRY.classes, allow_default_scheduler=True)
        return [
            {
                "name": profile.name,
                "settings": profile.settings,
                "filters": [plugin.name for plugin in profile.filter],
                "plugins": {plugin.name: plugin.model_dump() for plugin in profile.plugins},
                "weights": {score.plugin.name: score.weight for score in profile.score},
            }
            for profile in configure(Settings(), loaded, REGISTRY).profiles
        ]

    assert profiles(viewed.out) == profiles(FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("command", [("config", "view", "--config"), ("run", "--config"), ("import",)])
def test_a_file_that_is_not_utf_8_causes_one_error(moorage: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
    file = tmp_path / "config.yaml"
    file.write_bytes(b"kind: KubeSchedulerConfiguration\nx: \xff\xfe\n")
    ended = moorage(*command, file)
    assert ended.status == 1
    assert ended.err == f"error: line 2: {file} is not UTF-8: invalid start byte\n"


def test_config_view_omits_unused_fields(moorage: Run) -> None:
    viewed = moorage("config", "view", FILE, "--allow-default-scheduler")
    view = yaml.safe_load(viewed.out)
    assert {"healthzBindAddress", "metricsBindAddress", "enableProfiling"}.isdisjoint(view)
    assert "healthzBindAddress" in viewed.err
    assert "null" not in viewed.out
    assert "[]" not in viewed.out
    assert "&" not in viewed.out
    first, _, last = view["profiles"]
    assert {"name": "NodeResourcesFit", "weight": 5} in first["plugins"]["score"]["enabled"]
    assert {"name": "TaintToleration", "weight": 3} in last["plugins"]["score"]["enabled"]
    assert "InterPodAffinity" not in {entry["name"] for entry in last["plugins"]["score"]["enabled"]}


def test_config_view_requires_exactly_one_file(moorage: Run) -> None:
    assert moorage("config", "view").status == 2
    assert moorage("config", "view", FILE, "--config", FILE).status == 2


def test_import_allows_the_name_default_scheduler_only_with_the_flag(moorage: Run) -> None:
    without_flag, with_flag = moorage("import", FILE), moorage("import", FILE, "--allow-default-scheduler")
    warning = "warning: the API server will refuse the policy default-scheduler"
    assert (warning in without_flag.err, warning in with_flag.err) == (True, False)
    assert "allowDefaultScheduler" not in without_flag.out
    [allowed] = [each for each in yaml.safe_load_all(with_flag.out) if each["spec"].get("allowDefaultScheduler")]
    assert allowed["metadata"]["name"] == "default-scheduler"


@pytest.mark.parametrize(
    "arguments", [("config", "view", "nofile"), ("import", "nofile"), ("sandbox", "--nodes", "nofile")]
)
def test_the_error_for_a_missing_file_names_the_file(moorage: Run, arguments: tuple[str, ...]) -> None:
    assert moorage(*arguments) == Ended(1, "", "error: nofile: No such file or directory\n")


def test_the_command_crd_prints_metadata_of_a_helm_release_if_adopt_by_names_it(moorage: Run) -> None:
    printed = yaml.safe_load(moorage("crd", "--adopt-by", "moorage/moorage-system").out)
    assert printed["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "Helm"}
    assert printed["metadata"]["annotations"] == {
        "helm.sh/resource-policy": "keep",
        "meta.helm.sh/release-name": "moorage",
        "meta.helm.sh/release-namespace": "moorage-system",
    }
    assert printed["spec"] == yaml.safe_load(moorage("crd").out)["spec"]


@pytest.mark.parametrize("value", ["moorage", "moorage/", "/moorage-system", "a/b/c", ""])
def test_the_flag_adopt_by_requires_a_release_and_a_namespace(moorage: Run, value: str) -> None:
    refused = moorage("crd", "--adopt-by", value)
    assert refused.status == 2
    assert "RELEASE/NAMESPACE, such as moorage/moorage-system" in " ".join(refused.err.split())


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--policy-extenders=a.example.com,http://b", "'http://b' is not a host"),
        ("--policy-extenders=*", "'*' is not a host"),
        ("--policy-extender-tls-dir=/no/such/directory", "does not exist"),
    ],
)
def test_run_refuses_a_wrong_value_of_a_policy_flag_at_once(moorage: Run, flag: str, message: str) -> None:
    ended = moorage("run", flag)
    assert ended.status == 2
    assert message in " ".join(ended.err.replace("│", " ").split())


def test_import_names_the_flags_that_its_policies_need(moorage: Run) -> None:
    ended = moorage("import", FILE, "--allow-default-scheduler")
    assert "only if it runs with --allow-default-scheduler" in ended.err
    assert "only if it runs with --policy-extenders=extender.example.com" in ended.err
