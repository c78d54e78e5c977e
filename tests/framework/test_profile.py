from collections.abc import Sequence
from typing import Any

import pytest

from moorage.api.plugin_config import PluginConfig
from moorage.cluster.snapshot import Snapshot
from moorage.framework.extension_points import ReservePlugin
from moorage.framework.profile import Profile, ProfileSpec
from moorage.framework.registry import Registry
from moorage.model.pods.pod import Pod
from moorage.plugins.upstream.priority_sort import PrioritySort


class Reserving(ReservePlugin):
    limit_seconds: int | None = None

    @property
    def pre_bind_timeout_seconds(self) -> int | None:
        return self.limit_seconds

    def reserve(self, state: Any, pod: Pod, nodes: Snapshot) -> Sequence[object]:
        del state, pod, nodes
        return ()


@pytest.mark.parametrize(
    ("limits", "expected"), [((), 600), ((None,), 600), ((None, 30), 30), ((900,), 900), ((900, 30), 30)]
)
def test_pre_bind_timeout_is_the_shortest_limit_of_all_plugins(limits: tuple[int | None, ...], expected: int) -> None:
    reserve = tuple(Reserving(limit_seconds=limit) for limit in limits)

    profile = Profile(name="mine", queue_sort=PrioritySort(), reserve=reserve)

    assert profile.pre_bind_timeout_seconds == expected


def test_bind_timeout_of_volume_binding_is_the_pre_bind_timeout() -> None:
    config = PluginConfig(name="VolumeBinding", args={"bindTimeoutSeconds": 7})

    profile = Registry.discover().build_profile(ProfileSpec(scheduler_name="mine", plugin_config=(config,)))

    assert profile.pre_bind_timeout_seconds == 7
