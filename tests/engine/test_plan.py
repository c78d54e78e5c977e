"""A plan leaves out only plugins that return Skip. Its static results are correct for every view."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import snapshot_of
from moorage.api.plugin_config import PluginEntry, Plugins, PluginSet
from moorage.cluster.nodes_view import NodesView
from moorage.cluster.snapshot import Snapshot
from moorage.engine.cycle.plan import plan_for
from moorage.framework.profile import Profile, ProfileSpec
from moorage.framework.registry import Registry
from moorage.framework.status import Code
from moorage.model.pods.pod import Pod
from strategies import clusters, pods

EVENS = slice(0, None, 2)


OURS = tuple(PluginEntry(name=name) for name in ("Gpu", "InstanceType", "Lifecycle", "ServerlessNodes", "ZoneSpread"))


@pytest.fixture(scope="module")
def profile() -> Profile:
    plugins = Plugins(multi_point=PluginSet(enabled=OURS))
    return Registry.discover().build_profile(ProfileSpec(scheduler_name="s", plugins=plugins))


def cluster_of(data: st.DataObject) -> Snapshot:
    nodes, placed = data.draw(clusters())
    return snapshot_of(nodes, placed)


@settings(max_examples=60, deadline=None)
@given(st.data(), pods())
def test_plugins_that_the_plan_leaves_out_return_skip(profile: Profile, data: st.DataObject, incoming: Pod) -> None:
    cluster = cluster_of(data)
    plan = plan_for(profile, incoming.shape, cluster)
    for plugin in set(profile.pre_filter) - set(plan.pre_filter):
        assert plugin.pre_filter(incoming, cluster).status.code is Code.SKIP
    kept = {entry.plugin for entry in plan.local_score}
    for ranker in set(profile.pre_score) - set(plan.pre_score) - kept:
        assert ranker.pre_score(incoming, cluster).status.code is Code.SKIP


@settings(max_examples=60, deadline=None)
@given(st.data(), pods())
def test_static_results_are_the_same_for_every_view(profile: Profile, data: st.DataObject, incoming: Pod) -> None:
    cluster = cluster_of(data)
    plan = plan_for(profile, incoming.shape, cluster)
    evens = np.arange(cluster.size, dtype=np.int64)[EVENS]
    view = NodesView(cluster, evens)
    for plugin in plan.filter:
        if plugin.has_static_filter:
            everywhere = plugin.filter(None, incoming, cluster).passed
            assert plugin.filter(None, incoming, view).passed.tolist() == everywhere[EVENS].tolist()
    for entry in (*plan.score, *plan.local_score):
        if entry.plugin.has_static_score or entry.plugin.has_local_score:
            scores = entry.plugin.score(None, incoming, cluster)
            assert entry.plugin.score(None, incoming, view).tolist() == scores[EVENS].tolist()
