"""The command `moorage demo`: runs the examples on one machine, with only this package installed.

The embedded API server runs in this process, and the operator in a separate process. For everything else, the demo uses
kubectl, so that it shows the output that users see.
"""

import asyncio
import contextlib
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml

from moorage.api.crd import crd
from moorage.api.v1alpha1 import API_VERSION, KIND, PLURAL
from moorage.sandbox.api_server import SandboxServer
from moorage.sandbox.demo import demo_report
from moorage.sandbox.demo.demo_error import DemoError
from moorage.sandbox.demo.demo_pods import DemoPod, Manifest, demo_pods, refusal_of
from moorage.sandbox.demo.expectations import failed_expectations
from moorage.sandbox.demo.kubectl import Kubectl, find_kubectl
from moorage.sandbox.demo.operator_process import POLL_SECONDS, READY_SECONDS, running_operator
from moorage.sandbox.signals import interruptible
from moorage.sandbox.simulation.node_groups import DEFAULT_NODES, load_node_groups

SETTLE_SECONDS = 30.0
"""The time limit for all pods to be bound or refused, and again for the policies' statuses to count the pods."""

DEFAULT_PROFILE = "default-profile"
"""The name of a policy without fields. The demo compares the placements of the examples with those of this policy."""

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """The flags of the command."""

    keep: bool = False
    """Whether the cluster runs until Ctrl-C."""
    as_json: bool = False
    """Whether to print JSON instead of tables."""


def run_demo(options: DemoOptions) -> int:
    """Run the demo, print its result, and return the exit code."""
    steps = demo_report.ProgressSteps()
    try:
        return asyncio.run(_run(steps, options))
    except DemoError as error:
        steps.fail(str(error))
        return 1


async def _run(steps: demo_report.ProgressSteps, options: DemoOptions) -> int:
    with interruptible(), tempfile.TemporaryDirectory(prefix="moorage-demo-") as folder:
        async with contextlib.AsyncExitStack() as stack:
            return await _run_in(stack, Path(folder), steps, options)


async def _run_in(
    stack: contextlib.AsyncExitStack, folder: Path, steps: demo_report.ProgressSteps, options: DemoOptions
) -> int:
    with steps.step("API server with simulated nodes", "up"):
        groups = load_node_groups(DEFAULT_NODES)
        server = await stack.enter_async_context(SandboxServer(node_groups=groups, crds=[crd()]))
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(server.kubeconfig(), encoding="utf-8")
    kubectl = Kubectl(find_kubectl(), kubeconfig)
    with steps.step("operator in its own process", "up"):
        await stack.enter_async_context(running_operator(kubeconfig, folder / "operator.log"))
    with steps.step("policies of the examples", "ready"):
        await _apply_policies(kubectl)
    with steps.step("the same pods with a default profile", "bound or refused, then deleted"):
        by_default = await _place_by_default(kubectl, folder)
    with steps.step("pods of the examples", "bound, or refused with a reason"):
        await kubectl.run("apply", *(f"--filename={example / 'pods.yaml'}" for example in _examples()))
        pods = await _settled_pods(kubectl)
        await _wait_for_policy_statuses(kubectl, pods)
        result = demo_report.DemoResult(await kubectl.run("get", PLURAL), await _with_nodes(kubectl, pods), by_default)
    if options.as_json:
        result.print_json()
    else:
        result.show()
    failed = failed_expectations(result.pods)
    for sentence in failed:
        steps.fail(sentence)
    if options.keep:
        demo_report.show_next_steps(kubeconfig)
        await asyncio.Event().wait()
    if not options.as_json:
        demo_report.show_how_to_keep()
    return 1 if failed else 0


async def _apply_policies(kubectl: Kubectl) -> None:
    files = [f"--filename={example / 'policy.yaml'}" for example in _examples()]
    await kubectl.run("apply", *files)
    await kubectl.run("wait", "--for=condition=Ready", PLURAL, "--all", f"--timeout={READY_SECONDS:.0f}s")


async def _place_by_default(kubectl: Kubectl, folder: Path) -> list[DemoPod]:
    """Create the pods of the examples for a policy without fields, and return them. Deletes pods and policy."""
    policy: Manifest = {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": DEFAULT_PROFILE}, "spec": {}}
    objects = [item for example in _examples() for item in yaml.safe_load_all(_read(example / "pods.yaml"))]
    for item in objects:
        if item["kind"] == "Pod":
            item["spec"]["schedulerName"] = DEFAULT_PROFILE
    file = folder / "default-profile.yaml"
    file.write_text(yaml.safe_dump_all([policy, *objects]), encoding="utf-8")
    await kubectl.run("apply", f"--filename={file}")
    found = await _with_nodes(kubectl, await _settled_pods(kubectl))
    await kubectl.run("delete", "pods", "--all", "--all-namespaces", "--force", "--grace-period=0")
    await kubectl.run("delete", PLURAL, DEFAULT_PROFILE)
    return found


async def _with_nodes(kubectl: Kubectl, pods: Sequence[Manifest]) -> list[DemoPod]:
    return demo_pods(pods, (await kubectl.json("get", "nodes"))["items"])


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def _examples() -> Sequence[Path]:
    """Return the folders of the examples that have a `pods.yaml`, from the installed package or from a checkout."""
    for folder in (Path(__file__).parents[1] / "examples", Path(__file__).parents[4] / "examples"):
        if folder.is_dir():
            return sorted(path.parent for path in folder.glob("*/pods.yaml"))
    raise DemoError("this installation has no examples; install moorage from its wheel or run from a checkout")


async def _settled_pods(kubectl: Kubectl) -> list[Manifest]:
    """Wait until each pod runs or is refused, and return all pods. Raises DemoError after SETTLE_SECONDS."""
    waiting: list[str] = []

    async def settled() -> list[Manifest] | None:
        pods: list[Manifest] = (await kubectl.json("get", "pods", "--all-namespaces"))["items"]
        waiting[:] = [pod["metadata"]["name"] for pod in pods if not _is_settled(pod)]
        return None if waiting else pods

    return await _poll(settled, lambda: f"these pods are still pending without a reason: {', '.join(waiting)}")


async def _wait_for_policy_statuses(kubectl: Kubectl, pods: Sequence[Manifest]) -> None:
    """Wait until the policies' statuses count all bound pods. The operator writes the statuses about once a second."""
    bound = sum(1 for pod in pods if pod["spec"].get("nodeName"))

    async def counted() -> bool | None:
        counts = [policy["status"].get("pods", {}) for policy in (await kubectl.json("get", PLURAL))["items"]]
        pending = sum(count.get("pending", 0) for count in counts)
        return True if not pending and sum(count.get("bound", 0) for count in counts) >= bound else None

    await _poll(counted, lambda: f"the policies' statuses do not yet count all {bound} bound pods")


async def _poll(attempt: Callable[[], Awaitable[_Result | None]], problem: Callable[[], str]) -> _Result:
    """Call `attempt` until its result is not None, and return the result.

    Raises DemoError with the text of `problem` after SETTLE_SECONDS.
    """
    for _ in range(int(SETTLE_SECONDS / POLL_SECONDS)):
        result = await attempt()
        if result is not None:
            return result
        await asyncio.sleep(POLL_SECONDS)
    raise DemoError(f"after {SETTLE_SECONDS:.0f} s {problem()}")


def _is_settled(pod: dict[str, Any]) -> bool:
    return pod["status"].get("phase") == "Running" or refusal_of(pod) is not None
