"""A random history of a cluster: it drives an engine with all kinds of messages, as a busy operator would.

The history depends on the seed and on the engine's outcomes only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any, Protocol

from msgspec.structs import replace

from builders import DECODER, make, node, pod_object
from moorage.api.extender import Extender
from moorage.api.plugin_config import PluginConfig, PluginEntry, Plugins, PluginSet
from moorage.engine.messages import (
    BindingFinished,
    CandidatesAnswered,
    ExtendersAnswered,
    KindReadable,
    KindUnreadable,
    LeadershipStarted,
    Message,
    NodeRefused,
    ProfileChanged,
    ProfileRefused,
    ProfileRemoved,
    TryAgain,
)
from moorage.engine.outcomes import AskAboutVictims, Bind, CallExtenders, Outcome, Unschedulable
from moorage.framework.cluster_events import ClusterEvent, added, deleted, updated
from moorage.framework.profile import CanaryShare, PolicyReference, Profile, ProfileSettings, ProfileSpec
from moorage.framework.registry import Registry
from moorage.model.node import Node
from moorage.model.pods.pod import Pod
from moorage.model.selectors import LabelSelector, Requirement

REGISTRY = Registry.discover()
ZONES = ("a", "b", "c")
EXTENDER = Extender.model_validate({
    "urlPrefix": "https://user:hidden@extender.example:8443/x", "filterVerb": "filter", "preemptVerb": "preempt",
    "enableHTTPS": True, "tlsConfig": {"insecure": True, "keyData": "c2VjcmV0", "certData": "c2VjcmV0"},
})  # fmt: skip


class Engine(Protocol):
    """The calls of the scheduling loop."""

    def apply(self, message: Message, now: float) -> None: ...
    def tick(self, now: float) -> None: ...
    def schedule_one(self, now: float) -> Outcome | None: ...


def profile(name: str, **settings: Any) -> Profile:
    """Return kube-scheduler's profile with other settings, and with a plugin that learns what pods request."""
    spec = ProfileSpec(
        scheduler_name=name,
        settings=ProfileSettings(**settings),
        policy=PolicyReference(name, f"{name}-uid", 1),
        plugins=Plugins(score=PluginSet(enabled=(PluginEntry(name="Scarcity", weight=5),))),
        plugin_config=(PluginConfig(name="Scarcity", args={"resources": ["cpu"]}),),
    )
    return REGISTRY.build_profile(spec)


PROFILES = (profile("default"), profile("asks", extenders=(EXTENDER,)), profile("shadow", shadow_of="default"))
"""The profiles at the start of each history."""
SCHEDULERS = ("default", "default", "default", "asks", "defualt", "unknown", "late")
SELECTOR = LabelSelector((Requirement("team", "In", frozenset({"x"})),))


class RandomHistory:
    """The cluster around the engine: its objects, the bindings in progress and the open questions."""

    def __init__(self, seed: int, engine: Engine) -> None:
        """Drive `engine`, which has the profiles PROFILES."""
        self.engine = engine
        self.now = 1000.0
        self._random = Random(seed)
        self._nodes: dict[str, Node] = {}
        self._pods: dict[str, Pod] = {}
        self._binding: list[Bind] = []
        self._questions: list[CallExtenders | AskAboutVictims] = []
        self._budget: Any = None
        self._claims: dict[str, Any] = {}
        self._numbers = iter(range(1_000_000))
        self._steps: list[tuple[int, Callable[[], None]]] = [
            (30, self._create_pod),
            (40, self._decide),
            (15, self._finish_binding),
            (12, self._answer),
            (6, self._delete_pod),
            (4, self._change_pod),
            (5, self._change_node),
            (2, self._delete_node),
            (3, self._change_profile),
            (3, self._change_kind),
            (3, self._change_object),
            (3, self._send_rare_message),
        ]

    def start(self) -> None:
        """Create the first nodes and namespaces."""
        for _ in range(6):
            self._add_node()
        for name in ("default", "other"):
            self._apply(added("Namespace", make("Namespace", {"metadata": {"name": name, "labels": {"team": "x"}}})))
        self._apply(added("StorageClass", make("StorageClass", {
            "metadata": {"name": "late"}, "provisioner": "example.com/x", "volumeBindingMode": "WaitForFirstConsumer",
        })))  # fmt: skip

    def run(self, steps: int) -> None:
        """Take random steps."""
        weights, actions = zip(*self._steps, strict=True)
        for _ in range(steps):
            self.now += self._random.choice((0.0, 0.001, 0.3, 1.0, 7.0))
            self._random.choices(actions, weights)[0]()
            self.engine.tick(self.now)

    def _apply(self, message: Message) -> None:
        self.engine.apply(message, self.now)

    def _any(self, items: Iterable[Any]) -> Any:
        found = list(items)
        return self._random.choice(found) if found else None

    def _add_node(self) -> None:
        name = f"n{next(self._numbers)}"
        taints = [{"key": "spot", "effect": "NoSchedule"}] if self._random.random() < 0.2 else []
        labels = {"tier": self._random.choice("xyz")}
        new = node(name, cpu=str(self._random.randint(1, 4)), zone=self._random.choice(ZONES), taints=taints,
                   labels=labels, images={"app:1": 10_000_000})  # fmt: skip
        self._nodes[name] = new
        self._apply(added("Node", new))

    def _change_node(self) -> None:
        old = self._any(self._nodes.values())
        if old is None or self._random.random() < 0.3:
            self._add_node()
            return
        changed = node(old.name, cpu=str(self._random.randint(1, 5)), zone=self._random.choice(ZONES),
                       unschedulable=self._random.random() < 0.2)  # fmt: skip
        self._nodes[old.name] = changed
        self._apply(updated("Node", old, changed))

    def _delete_node(self) -> None:
        old = self._any(self._nodes.values())
        if old is not None and len(self._nodes) > 3:
            del self._nodes[old.name]
            self._apply(deleted("Node", old))

    def _create_pod(self) -> None:
        name = f"p{next(self._numbers)}"
        app = self._random.choice("abc")
        spec: dict[str, Any] = {"schedulerName": self._random.choice(SCHEDULERS)}
        if self._random.random() < 0.1:
            spec["schedulingGates"] = [{"name": "wait"}]
        if self._random.random() < 0.15:
            spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": self._add_claim()}}]
        if self._random.random() < 0.1:
            spec["nodeSelector"] = {"tier": self._random.choice("xyzw")}
        fields: dict[str, Any] = {}
        if self._random.random() < 0.3:
            fields["spread"] = [{"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable":
                                 self._random.choice(("DoNotSchedule", "ScheduleAnyway")),
                                 "labelSelector": {"matchLabels": {"app": app}}}]  # fmt: skip
        if self._random.random() < 0.2:
            term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": app}}}
            fields["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        body = pod_object(name, namespace=self._random.choice(("default", "other", "new")), labels={"app": app},
                          cpu=f"{self._random.choice((100, 500, 900))}m", priority=self._random.choice((0, 0, 5, 9)),
                          tolerations=[{"operator": "Exists"}] if self._random.random() < 0.3 else (),
                          host_ports=(80,) if self._random.random() < 0.1 else (), spec=spec)  # fmt: skip
        new: Pod = DECODER.decode_object("Pod", body)
        self._pods[new.uid] = new
        self._apply(added("Pod", new))

    def _add_claim(self) -> str:
        name = f"c{next(self._numbers)}"
        for namespace in ("default", "other", "new"):
            spec = {"storageClassName": "late", "resources": {"requests": {"storage": "1Gi"}}}
            metadata = {"name": name, "namespace": namespace, "uid": f"{namespace}-{name}", "resourceVersion": "1"}
            self._apply(
                added("PersistentVolumeClaim", make("PersistentVolumeClaim", {"metadata": metadata, "spec": spec}))
            )
        return name

    def _delete_pod(self) -> None:
        old = self._any(self._pods.values())
        if old is not None:
            self._remove(old.uid)

    def _remove(self, uid: str) -> None:
        old = self._pods.pop(uid, None)
        if old is not None:
            self._apply(deleted("Pod", old))

    def _change_pod(self) -> None:
        old = self._any(self._pods.values())
        if old is None:
            return
        change = self._random.choice(({"terminating": True}, {"scheduling_gates": ()}, {"phase": "Running"},
                                      {"phase": "Succeeded"}, {"start_time": self.now},
                                      {"scheduled_condition": ("False", "Unschedulable", "no")}))  # fmt: skip
        self._replace(old, replace(old, **change))

    def _replace(self, old: Pod, new: Pod) -> None:
        self._pods[new.uid] = new
        self._apply(updated("Pod", old, new))

    def _decide(self) -> None:
        for _ in range(self._random.randint(1, 5)):
            outcome = self.engine.schedule_one(self.now)
            match outcome:
                case None:
                    return
                case Bind():
                    self._binding.append(outcome)
                case CallExtenders() | AskAboutVictims():
                    self._questions.append(outcome)
                case Unschedulable(victims=victims):
                    for victim in victims:
                        self._remove(victim.uid)

    def _finish_binding(self) -> None:
        if not self._binding:
            return
        bind = self._binding.pop(self._random.randrange(len(self._binding)))
        if self._random.random() < 0.2:
            self._apply(BindingFinished(bind.pod, bind.node_name, "409"))
            return
        old = self._pods.get(bind.pod.uid)
        if old is not None and not old.node_name:
            self._replace(old, replace(old, node_name=bind.node_name))
        self._apply(BindingFinished(bind.pod, bind.node_name))
        if self._random.random() < 0.1:
            self._apply(NodeRefused(bind.pod, bind.node_name, bind.profile))

    def _answer(self) -> None:
        if not self._questions:
            return
        question = self._questions.pop(self._random.randrange(len(self._questions)))
        uid = question.pod.uid
        if self._random.random() < 0.2:
            self._apply(ExtendersAnswered(pod_uid=uid, error="the extender failed"))
        elif isinstance(question, CallExtenders):
            names = list(question.node_names)
            kept = frozenset(self._random.sample(names, self._random.randint(1, len(names))))
            failed = {name: "no" for name in names if name not in kept}
            self._apply(ExtendersAnswered(pod_uid=uid, node_names=kept, failed=failed, scores={min(kept): 3}))
        else:
            self._apply(CandidatesAnswered(pod_uid=uid, candidates=tuple(question.candidates)))

    def _change_profile(self) -> None:
        changed = self._random.choice((
            lambda: ProfileChanged(profile("default", paused=self._random.random() < 0.3)),
            lambda: ProfileChanged(profile("default", allowed_namespaces=SELECTOR)),
            lambda: ProfileChanged(profile("late")),
            lambda: ProfileRemoved("late"),
            lambda: ProfileRefused("late", "policy late: no"),
            lambda: ProfileChanged(profile("shadow", shadow_of="default")),
            lambda: ProfileChanged(profile("canary", canary=CanaryShare("default", self._random.choice((20, 60))))),
            lambda: ProfileRemoved("canary"),
            lambda: ProfileChanged(profile("asks", extenders=(EXTENDER,))),
        ))  # fmt: skip
        self._apply(changed())

    def _change_kind(self) -> None:
        kind = self._random.choice(("PodDisruptionBudget", "PersistentVolumeClaim"))
        refused = self._random.random() < 0.5
        self._apply(
            KindUnreadable(kind, "cannot be read", refused) if self._random.random() < 0.3 else KindReadable(kind)
        )

    def _change_object(self) -> None:
        if self._random.random() < 0.5:
            labels = {"team": self._random.choice("xy")}
            self._apply(added("Namespace", make("Namespace", {"metadata": {"name": "new", "labels": labels}})))
            return
        metadata = {"name": "budget", "namespace": "default", "resourceVersion": str(next(self._numbers))}
        body = {"metadata": metadata, "spec": {"selector": {"matchLabels": {"app": "a"}}},
                "status": {"disruptionsAllowed": self._random.randint(0, 2)}}  # fmt: skip
        new, old = make("PodDisruptionBudget", body), self._budget
        event: ClusterEvent = (
            added("PodDisruptionBudget", new) if old is None else updated("PodDisruptionBudget", old, new)
        )
        self._budget = new
        self._apply(event)

    def _send_rare_message(self) -> None:
        waiting = self._any(uid for uid, each in self._pods.items() if not each.node_name)
        if waiting is None or self._random.random() < 0.3:
            self._apply(LeadershipStarted())
        else:
            self._apply(TryAgain(waiting, self._random.choice(["", *self._nodes])))
