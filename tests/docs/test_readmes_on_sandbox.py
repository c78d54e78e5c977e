"""The shell blocks in README and in the examples run as printed, on the sandbox that README starts.

This module does not run blocks that need a container registry or Helm (`NOT_RUN`). It does not run example 08, whose
extender has a fixed port; tests/e2e/test_workload_examples.py runs that example.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from controlplane.guard import Guard
from docs.shell_blocks import ROOT, blocks, scripts
from e2e.clusters import eventually

pytestmark = pytest.mark.slow

README = "README.md"
NOT_RUN = {"make demo", "make image"}
"""The first words of README's blocks that this module does not run."""
RUN = "moorage run"
RUN_ON_A_FREE_PORT = "moorage run --port=0"
"""The tests replace RUN by this command, because several test runs may share a machine."""
STOP_SECONDS = 60.0
STRICT = "set -euo pipefail\n"
EXAMPLES = ("01-spot-first", "02-zone-spread", "03-gpu-pool", "04-bin-packing", "05-low-latency", "06-instance-types",
            "09-preemption")  # fmt: skip
PENDING = {"03-gpu-pool": {"colossus-1"}, "09-preemption": {"urgent-1", "urgent-2"}}
"""The pods of each example that may stay pending."""


class Folder:
    """A folder with links to the repository's files. The blocks run in this folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        for entry in ROOT.iterdir():
            if entry.name not in {".venv", "sandbox.kubeconfig"}:
                (path / entry.name).symlink_to(entry)
        (path / ".venv").symlink_to(sys.prefix)

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a new user, without a kubeconfig and without moorage on the PATH."""
        hidden = {"KUBECONFIG", "VIRTUAL_ENV"}
        path = [part for part in os.environ["PATH"].split(os.pathsep) if not part.startswith(sys.prefix)]
        return {**{name: text for name, text in os.environ.items() if name not in hidden}, "PATH": ":".join(path)}

    def run(self, script: str) -> str:
        """Run a script in README's third terminal, and return its output. If a command fails, the test fails."""
        done = subprocess.run(
            ["bash", "-c", f"{STRICT}{terminal(3)}\n{script}"],
            cwd=self.path,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout

    @contextmanager
    def running(self, script: str, sign: str) -> Iterator[None]:
        """Run a script in another terminal until the context ends. First wait until the script prints `sign`."""
        log = self.path / "terminal.log"
        with log.open("w") as output:
            process = subprocess.Popen(
                ["bash", "-c", f"{STRICT}{script}"],
                cwd=self.path,
                env=self.environment,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        guard = Guard(-process.pid)
        text = ""

        def printed() -> bool:
            nonlocal text
            text = log.read_text()
            assert sign in text or process.poll() is None, text
            return sign in text

        try:
            eventually(printed)
            yield
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(STOP_SECONDS)
            guard.end()


def terminal(number: int) -> str:
    """Return README's block for the terminal with this number."""
    (script,) = [script for script in scripts(README) if script.startswith(f"# terminal {number}:")]
    return script


@contextmanager
def folder_with_sandbox(path: Path) -> Iterator[Folder]:
    """Yield a folder while README's first terminal runs in it."""
    if not (Path(sys.prefix) / "bin" / "activate").exists():
        pytest.skip("the tests do not run in a virtual environment")
    folder = Folder(path)
    with folder.running(terminal(1), "export KUBECONFIG="):
        yield folder


@pytest.fixture(scope="module")
def operator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Folder]:
    """A folder while README's first two terminals run in it."""
    with (
        folder_with_sandbox(tmp_path_factory.mktemp("repository")) as folder,
        folder.running(terminal(2).replace(RUN, RUN_ON_A_FREE_PORT), "serving on"),
    ):
        yield folder


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    """A folder for this test alone, with a sandbox but no operator."""
    with folder_with_sandbox(tmp_path) as folder:
        yield folder


def test_each_block_of_the_readme_runs_or_is_listed_in_not_run() -> None:
    first_words = {" ".join(script.split()[:2]) for script in scripts(README)}
    assert first_words == NOT_RUN | {"# terminal", "moorage crd", "kubectl apply"}


def test_the_policy_in_the_readme_places_its_pod(operator: Folder) -> None:
    (policy,) = [block.text for block in blocks(README) if block.text.startswith("# policy.yaml\n")]
    (operator.path / "policy.yaml").write_text(policy)
    others = [script for script in scripts(README) if script.startswith(("moorage crd", "kubectl apply"))]
    for script in others:
        operator.run(script)

    def row_is_as_printed() -> bool:
        row = operator.run("kubectl get schedulingpolicies cheap-first --no-headers").split()
        return row[:6] == ["cheap-first", "cheap-first", "True", "0", "1", "0"]

    eventually(row_is_as_printed)
    node = operator.run("kubectl get pod hello -o jsonpath={.spec.nodeName}")
    labels = operator.run(f"kubectl get node {node} --no-headers -L eks.amazonaws.com/capacityType").split()
    assert labels[-1] == "SPOT"
    assert not node.startswith("r5")
    operator.run("kubectl delete pod hello\nkubectl delete -f policy.yaml")


def test_the_example_of_the_page_about_policies_becomes_ready(operator: Folder) -> None:
    page = "docs/policies.md"
    (policy,) = [block.text for block in blocks(page) if block.language == "yaml" and "name: batch\n" in block.text]
    (operator.path / "batch.yaml").write_text(policy)
    operator.run("kubectl apply -f batch.yaml")
    for script in scripts(page):
        operator.run(script)
    operator.run("kubectl delete -f batch.yaml")


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_commands_of_an_example_run_as_printed(operator: Folder, example: str) -> None:
    page = f"examples/{example}/README.md"
    for script in scripts(page):
        operator.run(script)

    def pods_run() -> bool:
        names = operator.run("kubectl get pods -A --no-headers --field-selector=status.phase!=Running")
        return {line.split()[1] for line in names.splitlines()} <= PENDING.get(example, set())

    eventually(pods_run)
    (clean_up,) = re.findall(r"Clean up with `([^`]+)`", (ROOT / page).read_text())
    operator.run(clean_up)
    eventually(lambda: not operator.run("kubectl get pods -A --no-headers"))


def test_example_10_runs_as_printed_and_binds_its_pod(operator: Folder) -> None:
    page = "examples/10-volumes/README.md"
    apply, act_as_controller = scripts(page)
    operator.run(apply)
    operator.run(act_as_controller)
    eventually(lambda: operator.run("kubectl get pod ledger-0 -o jsonpath={.spec.nodeName}") == "r5-ondemand-0")
    operator.run("kubectl delete -f examples/10-volumes/")


def test_example_07_runs_with_an_exported_kubeconfig(folder: Folder) -> None:
    run, import_, _ = scripts("examples/07-scheduler-config/README.md")
    with folder.running(f"{terminal(3)}\n{run.replace(RUN, RUN_ON_A_FREE_PORT)}", "serving on"):
        overrides = '{"spec": {"schedulerName": "low-latency-profile"}}'
        folder.run(f"kubectl run imported --image=registry.k8s.io/pause:3.10 --overrides='{overrides}'")
        eventually(lambda: folder.run("kubectl get pod imported -o jsonpath={.spec.nodeName}") != "")
    folder.run(import_)
    policies = folder.run("kubectl get schedulingpolicies -o name").split()
    assert len(policies) == 3
    assert (folder.path / "values.yaml").read_text()
    folder.run("kubectl delete pod imported\nkubectl delete -f policies.yaml")
