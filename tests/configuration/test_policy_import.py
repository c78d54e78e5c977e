"""An imported policy compiles to the same profile as the profile in the configuration file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from moorage.api.v1alpha1 import parse_policy
from moorage.compilation.compile import compile_policy
from moorage.configuration.loading import KubeSchedulerConfiguration, load
from moorage.configuration.policy_import import chart_values_of, policies_of
from moorage.configuration.process_configuration import configure
from moorage.errors import InvalidPolicy
from moorage.framework.profile import Profile, ProfileSettings
from moorage.framework.registry import Registry
from moorage.settings import Settings

FILE = Path(__file__).parents[2] / "examples" / "07-scheduler-config" / "config.yaml"
REGISTRY = Registry.discover()


@pytest.fixture
def configuration() -> KubeSchedulerConfiguration:
    text = FILE.read_text(encoding="utf-8")
    return load(text, known_plugins=REGISTRY.classes, allow_default_scheduler=True).configuration


def described(profile: Profile) -> dict[str, object]:
    return {
        "name": profile.name,
        "plugins": {plugin.name: plugin.model_dump() for plugin in profile.plugins},
        "weights": {score.plugin.name: score.weight for score in profile.score},
        "filters": {plugin.name for plugin in profile.filter},
        "settings": replace(profile.settings, extenders=()),
        "extenders": [extender.model_dump() for extender in profile.settings.extenders],
    }


def test_an_imported_policy_compiles_to_the_profile_in_the_file(configuration: KubeSchedulerConfiguration) -> None:
    loaded = load(FILE.read_text(encoding="utf-8"), known_plugins=REGISTRY.classes, allow_default_scheduler=True)
    from_file = configure(Settings(), loaded, REGISTRY).profiles
    from_policies = [
        REGISTRY.build_profile(compile_policy(parse_policy(policy), REGISTRY, ProfileSettings()))
        for policy in policies_of(configuration, allow_default_scheduler=True)
    ]
    assert [described(profile) for profile in from_policies] == [described(profile) for profile in from_file]


def test_an_imported_policy_may_not_be_named_default_scheduler_by_default(
    configuration: KubeSchedulerConfiguration,
) -> None:
    of_default, *others = policies_of(configuration)
    with pytest.raises(InvalidPolicy, match="set allowDefaultScheduler: true to take it over"):
        parse_policy(of_default)
    assert [parse_policy(policy).scheduler_name for policy in others] == ["low-latency-profile", "cost-saver-profile"]


def test_chart_values_hold_the_fields_that_are_not_part_of_a_policy(configuration: KubeSchedulerConfiguration) -> None:
    assert chart_values_of(configuration) == {
        "config": {
            "clientConnection": {"qps": 100.0, "burst": 200},
            "leaderElection": {
                "leaderElect": True,
                "leaseDuration": "15s",
                "renewDeadline": "10s",
                "retryPeriod": "2s",
            },
            "parallelism": 16,
        }
    }
