from moorage.api.plugin_config import PluginConfig
from moorage.framework.plugin_arguments import build_plugin, read_arguments
from moorage.framework.profile import ProfileSpec
from moorage.plugins.upstream.node_resources_fit import NodeResourcesFit


def test_plugin_argument_that_is_null_gets_its_default() -> None:
    nothing = {"ignoredResources": None, "scoringStrategy": None}
    config = PluginConfig(name="NodeResourcesFit", args=nothing)
    spec = ProfileSpec(scheduler_name="nulls", plugin_config=(config,))

    plugin = build_plugin(NodeResourcesFit, read_arguments(spec, {}).values["NodeResourcesFit"], {})

    assert isinstance(plugin, NodeResourcesFit)
    assert plugin.scoring_strategy == NodeResourcesFit().scoring_strategy
