from textwrap import dedent

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.configuration.loading import (
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LoadedConfiguration,
    load,
)
from moorage.errors import ConfigurationError, Fault

KNOWN = frozenset(
    {"InterPodAffinity", "NodeResourcesBalancedAllocation", "NodeResourcesFit", "PrioritySort", "VolumeBinding"}
)
HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
"""The header has two lines, so the text after it starts at line 3."""


def loaded(body: str, *, allow_default_scheduler: bool = False) -> LoadedConfiguration:
    return load(HEADER + dedent(body), known_plugins=KNOWN, allow_default_scheduler=allow_default_scheduler)


def configured(body: str) -> KubeSchedulerConfiguration:
    return loaded(body).configuration


def faults(body: str, header: str = HEADER) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        load(header + dedent(body), known_plugins=KNOWN)
    return [str(fault) for fault in caught.value.faults]


GUIDE = """\
    clientConnection:
      kubeconfig: /etc/kubernetes/scheduler.conf
      qps: 100
      burst: 200
    parallelism: 16
    percentageOfNodesToScore: 20
    leaderElection:
      leaderElect: true
      leaseDuration: 15s
      renewDeadline: 10s
      retryPeriod: 2s
      resourceName: kube-scheduler
      resourceNamespace: kube-system
    healthzBindAddress: 0.0.0.0:10259
    metricsBindAddress: 0.0.0.0:10259
    podInitialBackoffSeconds: 1
    podMaxBackoffSeconds: 10
    extenders:
      - urlPrefix: https://extender.example.com/api
        filterVerb: filter
        prioritizeVerb: prioritize
        weight: 1
        enableHTTPS: true
        tlsConfig: {insecure: true}
        httpTimeout: 5s
        nodeCacheCapable: true
        managedResources:
          - name: example.com/special-gpu
            ignoredByScheduler: true
    profiles:
      - schedulerName: default-scheduler
        plugins:
          score:
            disabled: [{name: NodeResourcesBalancedAllocation}]
            enabled: [{name: NodeResourcesFit, weight: 5}]
        pluginConfig:
          - name: VolumeBinding
            args: {bindTimeoutSeconds: 600}
      - schedulerName: cost-saver-profile
        plugins:
          score:
            disabled: [{name: InterPodAffinity}]
"""


def test_the_file_from_the_tuning_guide_loads_with_warnings() -> None:
    result = loaded(GUIDE, allow_default_scheduler=True)
    assert [(warning.line, warning.path) for warning in result.warnings] == [
        (14, "leaderElection.resourceName"),
        (16, "healthzBindAddress"),
        (17, "metricsBindAddress"),
        (33, "profiles[0].schedulerName"),
    ]
    configuration = result.configuration
    assert (configuration.client_connection.qps, configuration.client_connection.burst) == (100, 200)
    assert configuration.percentage_of_nodes_to_score == 20
    assert configuration.leader_election.resource_name == "moorage", "moorage must not use kube-scheduler's Lease"
    (extender,) = configuration.extenders
    assert (extender.http_timeout_seconds, extender.node_cache_capable) == (5, True)
    default, cost_saver = configuration.profiles
    assert default.plugins.score.enabled[0].weight == 5
    assert default.plugin_config[0].args == {"bindTimeoutSeconds": 600}
    assert cost_saver.plugins.score.disabled[0].name == "InterPodAffinity"


def test_a_profile_named_default_scheduler_needs_the_flag() -> None:
    (fault,) = faults(GUIDE)
    assert fault.startswith("line 33: profiles[0].schedulerName: default-scheduler is kube-scheduler's name")
    assert "--allow-default-scheduler" in fault


def test_the_defaults_equal_the_defaults_of_kube_scheduler() -> None:
    configuration = configured("")
    assert (configuration.parallelism, configuration.percentage_of_nodes_to_score) == (16, 0)
    assert (configuration.pod_initial_backoff_seconds, configuration.pod_max_backoff_seconds) == (1, 10)
    assert (configuration.client_connection.qps, configuration.client_connection.burst) == (50, 100)
    election = configuration.leader_election
    assert election.leader_elect
    assert (election.lease_duration_seconds, election.renew_deadline_seconds, election.retry_period_seconds) == (
        15,
        10,
        2,
    )
    assert (election.resource_name, election.resource_namespace) == ("moorage", "kube-system")
    assert configuration.profiles == ()


def test_zero_rates_mean_the_defaults() -> None:
    connection = configured("clientConnection: {qps: 0, burst: 0}").client_connection
    assert (connection.qps, connection.burst) == (50, 100)


def test_a_null_is_equal_to_an_absent_field() -> None:
    assert configured("extenders: null\nprofiles:\nleaderElection:\n") == configured("")


def test_a_single_profile_without_a_name_is_default_scheduler() -> None:
    body = "profiles: [{percentageOfNodesToScore: 50}]"
    assert loaded(body, allow_default_scheduler=True).configuration.profiles[0].scheduler_name == "default-scheduler"
    assert faults(body)[0].startswith("line 3: profiles[0].schedulerName: default-scheduler is kube-scheduler's name")


def test_an_extender_timeout_of_zero_means_the_default() -> None:
    body = "extenders: [{urlPrefix: 'http://a', filterVerb: f, httpTimeout: 0s}]"
    assert configured(body).extenders[0].http_timeout_seconds == 5


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("paralelism: 3", "line 3: paralelism: is not a known field; did you mean parallelism?"),
        ("qps: 3", "line 3: qps: is not a known field here; it belongs under clientConnection: check the indentation"),
        (
            "leaderElection:\nleaderElect: true",
            "line 4: leaderElect: is not a known field here; it belongs under leaderElection",
        ),
        ("parallelism: 3\nparallelism: 4", "line 4: parallelism: is repeated; line 3 has it already"),
        ("parallelism: '3'", "line 3: parallelism: must be a whole number, not the text '3'"),
        ("parallelism: 0", "line 3: parallelism: must be greater than or equal to 1, not 0"),
        ("parallelism: 1.5", "line 3: parallelism: must be a whole number, not 1.5"),
        ("profiles: {}", "line 3: profiles: must be a list, not a mapping"),
        ("clientConnection: []", "line 3: clientConnection: must be a mapping, not a list"),
        ("clientConnection: {qps: .nan}", "line 3: clientConnection.qps: must be a finite number"),
        ("clientConnection: {burst: -1}", "line 3: clientConnection.burst: must be greater than or equal to 0, not -1"),
        (
            "percentageOfNodesToScore: 101",
            "line 3: percentageOfNodesToScore: must be less than or equal to 100, not 101",
        ),
        ("podInitialBackoffSeconds: 0", "line 3: podInitialBackoffSeconds: must be greater than or equal to 1, not 0"),
        ("podMaxBackoffSeconds: 2\npodInitialBackoffSeconds: 3", "line 3: podMaxBackoffSeconds: must not be below"),
        (
            "podInitialBackoffSeconds: 11",
            "line 3: podInitialBackoffSeconds: must not be above podMaxBackoffSeconds, which is 10",
        ),
        ("on: 1", "line 3: the field name 'on' must be text"),
        ("leaderElection: {leaseDuration: 15}", "line 3: leaderElection.leaseDuration: must be text, not 15"),
        ("leaderElection: {leaseDuration: 15 s}", "line 3: leaderElection.leaseDuration: '15 s' is not a duration"),
        (
            "leaderElection: {leaseDuration: 10s}",
            "line 3: leaderElection.leaseDuration: must be longer than renewDeadline",
        ),
        (
            "leaderElection:\n  leaseDuration: 1900ms\n  renewDeadline: 1s\n  retryPeriod: 0.5s",
            "line 4: leaderElection.leaseDuration: must be longer than renewDeadline in whole seconds",
        ),
        ("leaderElection: {retryPeriod: 0s}", "line 3: leaderElection.retryPeriod: must be longer than 0s"),
        (
            "leaderElection: {renewDeadline: 2.4s}",
            "line 3: leaderElection.renewDeadline: must be longer than 1.2 times",
        ),
        ("leaderElection: {resourceLock: endpoints}", "line 3: leaderElection.resourceLock: must be leases"),
        ("leaderElection: {resourceName: ''}", "line 3: leaderElection.resourceName: must have at least 1 character"),
        (
            "extenders:\n- urlPrefix: https://a\n  filterVerb: f\n  enableHTTPS: true",
            "line 4: extenders[0].tlsConfig: HTTPS needs tlsConfig.caData or caFile, or tlsConfig.insecure: true",
        ),
        (
            "extenders: [{urlPrefix: 'http://a', prioritizeVerb: p}]",
            "line 3: extenders[0].weight: an extender with a prio",
        ),
        ("extenders: [{urlPrefix: 'http://a'}]", "line 3: extenders[0]: an extender needs at least one of filterVerb"),
        ("extenders: [{filterVerb: f}]", "line 3: extenders[0].urlPrefix: is required"),
        (
            "extenders: [{urlPrefix: 'http://a', filterVerb: f, httpTimeout: 5}]",
            "line 3: extenders[0].httpTimeout: must be t",
        ),
        (
            "extenders:\n- {urlPrefix: 'http://a', bindVerb: b}\n- {urlPrefix: 'http://b', bindVerb: b}",
            "line 5: extenders[1].bindVerb: only one extender can bind",
        ),
        (
            "extenders:\n- {urlPrefix: 'http://a', filterVerb: f, managedResources: [{name: cpu}]}",
            "line 4: extenders[0].managedResources[0].name: must be an extended resource",
        ),
        (
            "profiles: [{schedulerName: a}, {schedulerName: a}]",
            "line 3: profiles[1].schedulerName: 'a' is already the name of profil",
        ),
        (
            "profiles:\n- schedulerName: a\n- {}",
            "line 5: profiles[1].schedulerName: is required if there is more than one",
        ),
        (
            "profiles: [{schedulerName: a, plugins: {score: {enabled: [{name: NodeLabel}]}}}]",
            "line 3: profiles[0].plugins.score.enabled[0].name: the plugin 'NodeLabel' was removed from kube-scheduler",
        ),
        (
            "profiles: [{schedulerName: a, plugins: {score: {disabled: [{name: InterPodAfinity}]}}}]",
            "line 3: profiles[0].plugins.score.disabled[0].name: there is no plugin 'InterPodAfinity'; did you mean In",
        ),
        (
            "profiles: [{schedulerName: a, plugins: {score: {enabled: [{name: '*'}]}}}]",
            "line 3: profiles[0].plugins.score.enabled[0].name: there is no plugin '*'",
        ),
        (
            "profiles: [{schedulerName: a, pluginConfig: [{name: Zzz}]}]",
            "line 3: profiles[0].pluginConfig[0].name: there is no plugin 'Zzz'; `moorage plugins` lists the known",
        ),
        (
            "profiles: [{schedulerName: a, pluginConfig: [{name: VolumeBinding}, {name: VolumeBinding}]}]",
            "line 3: profiles[0].pluginConfig[1]: repeats 'VolumeBinding'",
        ),
        (
            "profiles: [{schedulerName: a, plugins: {queueSort: {disabled: [{name: '*'}]}}}, {schedulerName: b}]",
            "line 3: profiles[1].plugins.queueSort: must be the same in all profiles",
        ),
        (
            "profiles: [{schedulerName: a, plugins: {filters: {}}}]",
            "line 3: profiles[0].plugins.filters: is not a known field",
        ),
        ("profiles: [3]", "line 3: profiles[0]: must be a mapping, not 3"),
    ],
)
def test_a_fault_is_reported_with_path_and_line(body: str, fault: str) -> None:
    found = faults(body)
    assert len(found) == 1, found
    assert found[0].startswith(fault)


@pytest.mark.parametrize("version", ["v1alpha1", "v1alpha2", "v1beta1", "v1beta2", "v1beta3"])
def test_an_older_version_is_refused_with_the_next_step(version: str) -> None:
    header = f"# mine\napiVersion: kubescheduler.config.k8s.io/{version}\nkind: KubeSchedulerConfiguration\n"
    (fault,) = faults("", header=header)
    assert fault.startswith("line 2: apiVersion:")
    assert "write kubescheduler.config.k8s.io/v1" in fault


def test_the_header_is_required() -> None:
    assert faults("", header="parallelism: 3\n") == [
        "line 1: apiVersion: must be kubescheduler.config.k8s.io/v1",
        "line 1: kind: must be KubeSchedulerConfiguration",
    ]
    assert faults("", header="apiVersion: v1\nkind: Policy\n") == [
        "line 1: apiVersion: must be kubescheduler.config.k8s.io/v1, not 'v1'",
        "line 2: kind: must be KubeSchedulerConfiguration, not 'Policy'",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "just words",
        "a: 1\n\tb: 2",
        "a: [1",
        "a: 1\n---\nb: 2",
        "a: 'x",
        "a: 1\n  b: 2",
        "a: *b",
        "a: !python/name:os.system 1",
        "a: &a [*a]",
        "[" * 1200,
        "a: \x00",
    ],
)
def test_a_text_that_is_not_a_yaml_mapping_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load(text, known_plugins=KNOWN)
    (fault,) = caught.value.faults
    assert "\n" not in fault.message


def test_nested_aliases_are_refused() -> None:
    text = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40))
    with pytest.raises(ConfigurationError, match="too many"):
        load(text, known_plugins=KNOWN)


def test_a_field_with_too_much_indentation_is_reported_with_its_line() -> None:
    (fault,) = faults("leaderElection:\n  leaderElect: true\n    leaseDuration: 15s\n")
    assert fault.startswith("line 5: this is not valid YAML")
    assert "indentation" in fault


def test_all_faults_of_a_file_are_reported_in_line_order() -> None:
    body = """\
        leaderElection:
        leaderElect: true
        leaderElection:
          leaseDuration: 5s
        clientConnection:
          qps: "100"
          bursts: 3
        parallelism: 0
        podInitialBackoffSeconds: 20
        extenders:
        - filterVerb: x
          urlPrefix: https://a/
          enableHTTPS: true
        - filterVerb: x
        - urlPrefix: http://b/
          foo: 1
        - urlPrefix: http://b/
          filterVerb: f
          httpTimeout: 5
        - {urlPrefix: http://c/, bindVerb: f}
        - {urlPrefix: http://d/, bindVerb: f}
        profiles:
        - schedulerName: a
          plugins: {score: {enabled: [{name: EBSLimits}]}}
        - schedulerName: a
          pluginConfig: [{name: VolumeBinding}, {name: VolumeBinding}]
        - schedulerName: default-scheduler
        """
    header = "apiVersion: kubescheduler.config.k8s.io/v1beta2\nkind: KubeSchedulerConfiguration\n"
    places = [fault.split(": ")[:2] for fault in faults(body, header=header)]
    assert places == [
        ["line 1", "apiVersion"],
        ["line 4", "leaderElect"],
        ["line 5", "leaderElection"],
        ["line 6", "leaderElection.leaseDuration"],
        ["line 8", "clientConnection.qps"],
        ["line 9", "clientConnection.bursts"],
        ["line 10", "parallelism"],
        ["line 11", "podInitialBackoffSeconds"],
        ["line 13", "extenders[0].tlsConfig"],
        ["line 16", "extenders[1].urlPrefix"],
        ["line 17", "extenders[2]"],
        ["line 18", "extenders[2].foo"],
        ["line 21", "extenders[3].httpTimeout"],
        ["line 23", "extenders[5].bindVerb"],
        ["line 26", "profiles[0].plugins.score.enabled[0].name"],
        ["line 27", "profiles[1].schedulerName"],
        ["line 28", "profiles[1].pluginConfig[1]"],
        ["line 29", "profiles[2].schedulerName"],
    ]


def check_weights(profile: KubeSchedulerProfile) -> list[Fault]:
    """Check a profile as a registry does: assert that its plugins are known, and return faults with paths in it."""
    named = {plugin.name for plugin in profile.plugins.score.enabled}
    assert named | {config.name for config in profile.plugin_config} <= KNOWN
    return [
        Fault(("pluginConfig", index, "args", "shape", 1, "score"), None, "must be less")
        for index, config in enumerate(profile.plugin_config)
        if config.args.get("shape")
    ]


def test_faults_of_plugin_arguments_are_reported_with_path_and_line() -> None:
    body = """\
        parallelism: 0
        profiles:
        - schedulerName: a
          oddity: 1
          plugins: {score: {enabled: [{name: Zzz}, {name: NodeResourcesFit}]}}
          pluginConfig:
          - {name: Zzz, args: {shape: [1, 2]}}
          - weight: 3
          - name: NodeResourcesFit
            args:
              shape:
              - {score: 1}
              - {score: 200}
    """
    with pytest.raises(ConfigurationError) as caught:
        load(HEADER + dedent(body), known_plugins=KNOWN, check_profile=check_weights)
    assert [(fault.line, fault.path) for fault in caught.value.faults] == [
        (3, "parallelism"),
        (6, "profiles[0].oddity"),
        (7, "profiles[0].plugins.score.enabled[0].name"),
        (9, "profiles[0].pluginConfig[0].name"),
        (10, "profiles[0].pluginConfig[1].name"),
        (10, "profiles[0].pluginConfig[1].weight"),
        (15, "profiles[0].pluginConfig[2].args.shape[1].score"),
    ]


def test_a_rule_is_not_checked_if_one_of_its_values_is_invalid() -> None:
    assert faults("leaderElection: {leaseDuration: abc, renewDeadline: 30s}") == [
        "line 3: leaderElection.leaseDuration: 'abc' is not a duration; write it as in 500ms, 15s or 1m30s"
    ]


def test_lease_timings_are_not_checked_without_leader_election() -> None:
    assert not configured("leaderElection: {leaderElect: false, leaseDuration: 1s}").leader_election.leader_elect


def test_a_disabled_plugin_that_kubernetes_has_removed_causes_a_warning() -> None:
    body = "profiles: [{schedulerName: a, plugins: {filter: {disabled: [{name: EBSLimits}, {name: '*'}]}}}]"
    (warning,) = loaded(body).warnings
    assert warning.path == "profiles[0].plugins.filter.disabled[0].name"
    assert "NodeVolumeLimits" in warning.message


@pytest.mark.parametrize(
    "body",
    [
        "enableProfiling: true",
        "enableContentionProfiling: false",
        "delayCacheUntilActive: true",
        "clientConnection: {contentType: application/vnd.kubernetes.protobuf}",
    ],
)
def test_a_field_without_effect_causes_a_warning(body: str) -> None:
    (warning,) = loaded(body).warnings
    assert (warning.line, "has no effect" in warning.message) == (3, True)


WORDS = ["schedulerName", "profiles", "leaderElection", "extenders", "plugins", "name", "15s", "a", "*", "apiVersion"]
ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=40, deadline=None)
@given(content=st.dictionaries(st.sampled_from(WORDS), ODD, max_size=5))
def test_content_without_a_header_is_refused_with_lines(content: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load(yaml.safe_dump(content), known_plugins=KNOWN)
    assert all(fault.line for fault in caught.value.faults)
