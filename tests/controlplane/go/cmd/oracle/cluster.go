package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	frameworkplugins "k8s.io/kubernetes/pkg/scheduler/framework/plugins"
)

// cluster is a scheduler with all objects of a case in its cache, and the plugins of the pod's profile.
type cluster struct {
	scheduler *scheduler.Scheduler
	profile   framework.Framework
	nodes     []fwk.NodeInfo
	// plugins are separate instances with the profile's arguments, because a framework cannot run one plugin alone.
	plugins map[string]fwk.Plugin
	enabled *config.Plugins
}

// configError is the error of a configuration that kube-scheduler refuses.
type configError struct{ error }

func newCluster(ctx context.Context, input *caseInput) (*cluster, error) {
	configuration, err := readConfiguration(input.Config)
	if err != nil {
		return nil, configError{err}
	}
	client := fake.NewSimpleClientset(input.objects()...)
	informers := scheduler.NewInformerFactory(client, 0)
	recorder := func(string) events.EventRecorderLogger { return &events.FakeRecorder{} }
	made, err := scheduler.New(ctx, client, informers, nil, recorder,
		scheduler.WithProfiles(configuration.Profiles...),
		scheduler.WithPercentageOfNodesToScore(configuration.PercentageOfNodesToScore),
		scheduler.WithComponentConfigVersion(configuration.APIVersion),
	)
	if err != nil {
		return nil, configError{err}
	}
	profile := made.Profiles[input.Pod.Spec.SchedulerName]
	if profile == nil {
		return nil, configError{fmt.Errorf("no profile is named %q", input.Pod.Spec.SchedulerName)}
	}
	result := &cluster{scheduler: made, profile: profile, enabled: profile.ListPlugins()}
	if result.plugins, err = newPlugins(ctx, profile, result.enabled, configuration); err != nil {
		return nil, err
	}
	informers.Start(ctx.Done())
	informers.WaitForCacheSync(ctx.Done())
	if err := made.WaitForHandlersSync(ctx); err != nil {
		return nil, err
	}
	return result, result.takeSnapshot(ctx)
}

func (c *cluster) takeSnapshot(ctx context.Context) error {
	snapshot, ok := c.profile.SnapshotSharedLister().(*internalcache.Snapshot)
	if !ok {
		return fmt.Errorf("the profile's snapshot is a %T", c.profile.SnapshotSharedLister())
	}
	if err := c.scheduler.Cache.UpdateSnapshot(klog.FromContext(ctx), snapshot); err != nil {
		return err
	}
	nodes, err := snapshot.NodeInfos().List()
	c.nodes = nodes
	return err
}

func newPlugins(
	ctx context.Context, profile framework.Framework, enabled *config.Plugins, configuration *config.KubeSchedulerConfiguration,
) (map[string]fwk.Plugin, error) {
	arguments := map[string]runtime.Object{}
	for _, each := range configuration.Profiles {
		if each.SchedulerName != profile.ProfileName() {
			continue
		}
		for _, plugin := range each.PluginConfig {
			arguments[plugin.Name] = plugin.Args
		}
	}
	registry := frameworkplugins.NewInTreeRegistry()
	plugins := map[string]fwk.Plugin{}
	for _, set := range []config.PluginSet{enabled.PreFilter, enabled.Filter, enabled.PostFilter, enabled.Score} {
		for _, each := range set.Enabled {
			if plugins[each.Name] != nil {
				continue
			}
			plugin, err := registry[each.Name](ctx, arguments[each.Name], profile)
			if err != nil {
				return nil, fmt.Errorf("plugin %s: %w", each.Name, err)
			}
			plugins[each.Name] = plugin
		}
	}
	return plugins, nil
}
