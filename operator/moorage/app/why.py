"""Explains a pod for `moorage why`: asks the leading operator, or makes a new decision from a list of the cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from msgspec.structs import replace

from moorage.api.v1alpha1 import parse_policy
from moorage.app import discover_plugins
from moorage.app.cluster_commands import list_cluster
from moorage.app.command_client import open_command_client
from moorage.app.connections import find_credentials
from moorage.app.pod_explainer import PodExplainer
from moorage.compilation.policy_profile import build_policy_profile
from moorage.engine.messages import ProfileChanged, ProfileRefused
from moorage.engine.records.explanation import Explanation, Standing
from moorage.engine.scheduler import Scheduler
from moorage.errors import MoorageError, NoOperator, QuestionRefused
from moorage.framework.profile import ProfileSettings
from moorage.inventory import Inventory, cluster_events
from moorage.model.decode import Decoder
from moorage.runtime.asking.lease_holder import find_operator
from moorage.runtime.asking.port_forward import forward_port
from moorage.runtime.asking.question import Question, ask
from moorage.runtime.clock import Clock
from moorage.runtime.serving.health_server import is_loopback
from moorage.settings import SECURE_PORT, Settings

if TYPE_CHECKING:
    from moorage.runtime.client.credentials import Credentials
    from moorage.runtime.cluster_listing import ListingProgress

BEARER = "Bearer "
QUEUED = frozenset({Standing.ACTIVE, Standing.IN_FLIGHT})


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyOptions:
    """The flags of the command."""

    pod: str
    namespace: str | None = None
    """None means the namespace of the context."""
    node: str = ""
    server: str | None = None
    """The URL of an operator on this machine. None means the operator that holds the Lease."""
    kubectl: str | None = None


async def explain_pod(
    settings: Settings, options: WhyOptions, progress: ListingProgress, note: Callable[[str], None]
) -> Explanation:
    """Explain a pod. If no operator answers, call `note` with the reason, and make a new decision.

    Raise QuestionRefused if the pod is unknown or the user may not get it. Also raise the errors of the client.
    """
    clock = Clock()
    credentials = await find_credentials(settings, clock)
    question = Question(options.namespace or credentials.namespace, options.pod, options.node)
    try:
        return await _ask_operator(credentials, settings, options, question)
    except NoOperator as error:
        if options.server:
            raise
        note(f"{error}. The decision below is made now by this command, without the operator.")
    return decide_anew(await list_cluster(settings, progress), question, clock, note)


async def _ask_operator(
    credentials: Credentials, settings: Settings, options: WhyOptions, question: Question
) -> Explanation:
    header = await credentials.tokens.current()
    bearer = header if header and header.startswith(BEARER) else None
    if options.server:
        url = _checked(options.server)
        return await ask(url, question, bearer if url.startswith("https://") else None)
    if credentials.headers:
        raise NoOperator("the kubeconfig impersonates another user, which the operator cannot check")
    if bearer is None:
        raise NoOperator(
            "the kubeconfig's user has no bearer token (for example, it has a client certificate), and the operator "
            "can check only tokens"
        )
    election = settings.leader_election
    lease = f"{election.lease_namespace}/{election.lease_name}"
    async with open_command_client(settings, Clock()) as client:
        pod = await find_operator(client, lease)
    forwarding = forward_port(pod, SECURE_PORT, settings.kubeconfig, settings.context, kubectl=options.kubectl)
    async with forwarding as port:
        return await ask(f"https://127.0.0.1:{port}", question, bearer)


def _checked(server: str) -> str:
    parts = urlsplit(server)
    if parts.scheme not in {"http", "https"} or not is_loopback(parts.hostname or ""):
        raise QuestionRefused(
            f"--server {server}: write the URL of an operator on this machine, such as http://127.0.0.1:{SECURE_PORT}; "
            "without --server, the command finds the operator in the cluster"
        )
    return server.rstrip("/")


def decide_anew(inventory: Inventory, question: Question, clock: Clock, note: Callable[[str], None]) -> Explanation:
    """Explain a pod by a decision on the listed objects. Raise QuestionRefused if the pod is not listed."""
    decoder, scheduler = Decoder(), Scheduler(0)
    pods: dict[str, Any] = {}
    for event in cluster_events(inventory, decoder, note):
        scheduler.apply(event, 0.0)
        if event.kind == "Pod":
            pods[event.new.key] = event.new
    for message in policy_messages(inventory.policies):
        scheduler.apply(message, 0.0)
    explainer = PodExplainer(scheduler=scheduler, pods=pods, clock=clock, operator="")
    explanation = explainer.explain(question.namespace, question.pod, question.node)
    if explanation is None:
        raise QuestionRefused(f"pod {question.namespace}/{question.pod} does not exist")
    if search := explainer.change_search(explanation):
        explanation = replace(explanation, changes=search())
    if explanation.standing in QUEUED:
        return replace(explanation, standing=Standing.UNKNOWN, detail="")
    return explanation


def policy_messages(policies: Iterable[Mapping[str, Any]]) -> Iterator[ProfileChanged | ProfileRefused]:
    """Yield a message for each policy. If several policies have one schedulerName, use only the oldest policy."""
    registry = discover_plugins()
    claimed: set[str] = set()
    for manifest in sorted(policies, key=_age):
        name = str(manifest["metadata"]["name"])
        scheduler_name = str(manifest.get("spec", {}).get("schedulerName") or name)
        if scheduler_name in claimed:
            continue
        claimed.add(scheduler_name)
        try:
            yield ProfileChanged(build_policy_profile(parse_policy(manifest), registry, ProfileSettings()))
        except MoorageError as error:
            yield ProfileRefused(scheduler_name, f"policy {name}: {error}")


def _age(manifest: Mapping[str, Any]) -> tuple[str, str]:
    metadata = manifest["metadata"]
    return str(metadata.get("creationTimestamp") or ""), str(metadata["name"])
