"""RequestMix: what pods request, on which nodes they may run, and how common each request is. Newer pods weigh more.

Plugins read it to judge which free amounts of a node the next pods can use (`moorage.plugins.shared.fragmentation`).
The engine counts a pod once, when the pod appears, and only while the profile of a policy reads the mix.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from msgspec import Struct

from moorage.model.pods.pod import PodShape
from moorage.model.selectors import NodeSelector

HALF_LIFE_PODS = 4096
"""The weight of a pod halves each time this many pods appear after it."""
RENEWAL_PODS = 50
RENEWAL_SHARE = 0.05
"""The shares are published again after RENEWAL_PODS new pods or, if that is more, after new pods with this share of the
total weight. Each time, plugins must compute their scores for all nodes anew."""
MAX_REQUESTS = 4096
"""The maximum number of different requests. If there are more, the rarer half is dropped."""
MAX_WEIGHT = 1e9
"""If the weight of a new pod exceeds this, all weights are divided by it, so that floats keep their precision."""


@dataclass(frozen=True, slots=True)
class PodRequest:
    """The amounts that a pod requests, and its nodeSelector and required node affinity."""

    amounts: tuple[tuple[str, int], ...]
    """Names of resources and amounts above 0, sorted by name."""
    node_selector: tuple[tuple[str, str], ...] = ()
    required: NodeSelector | None = None

    def __hash__(self) -> int:
        """Return a hash without `required`, because to hash a selector takes several microseconds."""
        return hash((self.amounts, self.node_selector))

    def amount(self, resource: str) -> int:
        """Return the requested amount of a resource."""
        return next((amount for name, amount in self.amounts if name == resource), 0)


Shares = tuple[tuple[PodRequest, float], ...]
"""Requests, the most common first, and the share of each in all pods. The sum of the shares is 1."""


def request_of(shape: PodShape) -> PodRequest:
    """Return what the pods of a shape request."""
    return PodRequest(
        tuple(sorted((name, amount) for name, amount in shape.requests.amounts if amount)),
        tuple(sorted((shape.node_selector or {}).items())),
        shape.node_affinity.required if shape.node_affinity else None,
    )


class MixState(Struct, frozen=True, kw_only=True):
    """The fields of `RequestMix`."""

    is_learning: bool
    shares: Shares
    weights: tuple[tuple[PodRequest, float], ...]
    new_weight: float
    total: float
    new_pods: int


class RequestMix:
    """The requests of the pods that have appeared, with their shares."""

    def __init__(self) -> None:
        """Start without pods. Count none until `start`."""
        self.is_learning = False
        self.shares: Shares = ()
        self.generation = 0
        """A counter that grows each time `shares` changes."""
        self._weights: dict[PodRequest, float] = {}
        self._new_weight = 1.0
        """The weight of the next pod."""
        self._total = 0.0
        """The sum of all weights."""
        self._new_pods = 0
        """The number of pods since the shares were published."""

    def start(self, shapes: Iterable[PodShape]) -> None:
        """Count these pods with equal weights, and from now on each pod that appears."""
        self.is_learning = True
        for shape in shapes:
            self._add(shape)
        self._publish_present()

    def stop(self) -> None:
        """Forget all pods, and count no more."""
        self.is_learning = False
        self._weights.clear()
        self._new_weight, self._total = 1.0, 0.0
        self.publish(())

    def count(self, shape: PodShape) -> None:
        """Count a pod that has appeared, if a profile reads the mix."""
        if not self.is_learning:
            return
        self._new_weight *= 2 ** (1 / HALF_LIFE_PODS)
        self._add(shape)
        if self._new_weight > MAX_WEIGHT:
            self._rescale()
        self._new_pods += 1
        if self._new_pods >= max(RENEWAL_PODS, RENEWAL_SHARE * self._total / self._new_weight):
            self._publish_present()

    def publish(self, shares: Shares) -> None:
        """Let plugins read these shares from now on."""
        self.shares = shares
        self.generation += 1

    def state(self) -> MixState:
        """Return a copy of all fields."""
        return MixState(
            is_learning=self.is_learning,
            shares=self.shares,
            weights=tuple(self._weights.items()),
            new_weight=self._new_weight,
            total=self._total,
            new_pods=self._new_pods,
        )

    def restore(self, state: MixState) -> None:
        """Take over the fields of an earlier mix."""
        self.is_learning = state.is_learning
        self._weights = dict(state.weights)
        self._new_weight, self._total, self._new_pods = state.new_weight, state.total, state.new_pods
        self.publish(state.shares)

    def _add(self, shape: PodShape) -> None:
        request = request_of(shape)
        self._weights[request] = self._weights.get(request, 0.0) + self._new_weight
        self._total += self._new_weight
        if len(self._weights) > MAX_REQUESTS:
            self._weights = dict(sorted(self._weights.items(), key=_most_common_first)[: MAX_REQUESTS // 2])
            self._total = sum(self._weights.values())

    def _rescale(self) -> None:
        self._weights = {request: weight / self._new_weight for request, weight in self._weights.items()}
        self._total /= self._new_weight
        self._new_weight = 1.0

    def _publish_present(self) -> None:
        self._new_pods = 0
        ordered = sorted(self._weights.items(), key=_most_common_first)
        self.publish(tuple((request, weight / self._total) for request, weight in ordered))


def _most_common_first(entry: tuple[PodRequest, float]) -> tuple[float, str]:
    """Return a sort key. The text of the request decides between equal weights, so that equal inputs sort equally."""
    request, weight = entry
    return -weight, repr(request)
