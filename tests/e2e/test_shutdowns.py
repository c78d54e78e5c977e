"""Operators that stop or freeze: the next leader continues, and no pod is bound twice."""

from __future__ import annotations

import pytest

from e2e.clusters import eventually
from e2e.faults import SLOW, World
from moorage.sandbox.injected_faults import Delay

pytestmark = pytest.mark.slow


def test_on_sigterm_an_operator_finishes_its_bindings_and_releases_the_lease(world: World) -> None:
    world.case.cluster.apply(world.case.policy())
    world.api.fault(Delay(0.2), path="/binding$", times=None)
    with world.operator() as moorage:
        world.burst(40)
        eventually(lambda: len(world.api.bindings()) > 3)
        moorage.stop()
        assert moorage.exit_code == 0
        assert world.lease_holder() == ""
        bound = world.bound_count()
        assert 3 < bound == len(world.api.bindings())
    world.api.heal()
    with world.operator("successor"):
        world.wait_until_all_bound(40)


def test_a_standby_takes_over_from_a_frozen_leader_and_no_pod_is_bound_twice(world: World) -> None:
    world.case.cluster.apply(world.case.policy())
    with world.operator("leader") as leader:
        eventually(lambda: bool(world.lease_holder()))
        holder = world.lease_holder()
        with world.operator("standby") as standby:
            world.api.fault(Delay(0.2), path="/binding$", times=None)
            world.burst(40)
            eventually(lambda: len(world.api.bindings()) > 3)
            leader.pause()
            eventually(lambda: world.lease_holder() not in {holder, ""}, SLOW)
            leader.resume()
            world.wait_until_all_bound(40)
            eventually(lambda: "stopped leading" in leader.log.read_text(encoding="utf-8"))
            assert "became leader" in standby.log.read_text(encoding="utf-8")
            assert "Traceback" not in "".join(each.log.read_text(encoding="utf-8") for each in (leader, standby))
