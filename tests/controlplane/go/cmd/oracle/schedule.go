package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/util"
)

type preemption struct {
	Skipped       string               `json:"skipped,omitempty"`
	Code          string               `json:"code,omitempty"`
	Message       string               `json:"message,omitempty"`
	Candidates    map[string]candidate `json:"candidates,omitempty"`
	NodeStatuses  map[string]*status   `json:"nodeStatuses,omitempty"`
	Best          []string             `json:"best,omitempty"`
	NominatedNode string               `json:"nominatedNode,omitempty"`
	Victims       []string             `json:"victims,omitempty"`
}

type candidate struct {
	Pods             []string `json:"pods"`
	NumPDBViolations int64    `json:"numPDBViolations"`
}

func notSatisfied(plugins []string) string {
	return fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", plugins)
}

// schedule runs the whole scheduling cycle, and PostFilter if no node fits.
func (d *decider) schedule(ctx context.Context) {
	info, err := framework.NewPodInfo(d.pod)
	if err != nil {
		d.out.ScheduleError = err.Error()
		return
	}
	state := framework.NewCycleState()
	result, err := d.scheduler.SchedulePod(ctx, d.profile, state, &framework.QueuedPodInfo{PodInfo: info})
	var unfit *framework.FitError
	switch {
	case errors.As(err, &unfit):
		d.out.FitErrorMessage = unfit.Error()
		d.out.UnschedulablePlugins = sets.List(unfit.Diagnosis.UnschedulablePlugins)
		d.postFilter(ctx, state, unfit)
	case err != nil:
		d.out.ScheduleError = err.Error()
	case !slices.Contains(d.chosenFrom(), result.SuggestedHost):
		d.out.Error = fmt.Sprintf("the scheduler chose %s, which is none of %v", result.SuggestedHost, d.chosenFrom())
	}
}

func (d *decider) chosenFrom() []string {
	if d.out.NominatedOnly != "" {
		return []string{d.out.NominatedOnly}
	}
	if d.out.NotScored {
		return d.out.Feasible
	}
	return d.out.Best
}

func (d *decider) postFilter(ctx context.Context, state fwk.CycleState, unfit *framework.FitError) {
	d.out.Preemption = &preemption{}
	if d.pod.Spec.NodeName != "" {
		d.out.Preemption.Skipped = "spec.nodeName is set"
		return
	}
	if !d.profile.HasPostFilterPlugins() {
		d.out.Preemption.Skipped = "no PostFilter plugin"
		return
	}
	// The dry run comes first, because a real PostFilter deletes the victims.
	if plugin, enabled := d.plugins[defaultpreemption.Name].(*defaultpreemption.DefaultPreemption); enabled {
		d.dryRun(ctx, state, unfit, plugin)
	}
	result, found := d.profile.RunPostFilterPlugins(ctx, state, d.pod, unfit.Diagnosis.NodeToStatus)
	d.out.Preemption.Code = found.Code().String()
	d.out.Preemption.Message = found.Message()
	unfit.Diagnosis.PostFilterMsg = found.Message()
	if full := unfit.Error(); full != d.out.FitErrorMessage {
		d.out.FitErrorMessageFull = full
	}
	if found.IsSuccess() && len(d.out.Preemption.Best) == 1 && result.NominatedNodeName != d.out.Preemption.NominatedNode {
		d.out.Error = fmt.Sprintf("PostFilter nominated %s, not %s", result.NominatedNodeName, d.out.Preemption.NominatedNode)
	}
	if !found.IsSuccess() {
		// An earlier PostFilter plugin, or the pod itself, prevented preemption.
		d.out.Preemption.Candidates = nil
		d.out.Preemption.Best = nil
		d.out.Preemption.NominatedNode = ""
		d.out.Preemption.Victims = nil
	}
}

func (d *decider) dryRun(ctx context.Context, state fwk.CycleState, unfit *framework.FitError, plugin *defaultpreemption.DefaultPreemption) {
	nominatedStatus := unfit.Diagnosis.NodeToStatus.Get(d.pod.Status.NominatedNodeName)
	if eligible, _ := plugin.PodEligibleToPreemptOthers(ctx, d.pod, nominatedStatus); !eligible {
		return
	}
	potential, err := unfit.Diagnosis.NodeToStatus.NodesForStatusCode(d.profile.SnapshotSharedLister().NodeInfos(), fwk.Unschedulable)
	if err != nil || len(potential) == 0 {
		return
	}
	budgets, err := plugin.Evaluator.PdbLister.List(labels.Everything())
	if err != nil {
		return
	}
	found, statuses, _ := plugin.Evaluator.DryRunPreemption(ctx, state, d.pod, potential, budgets, 0, int32(len(potential)))
	d.out.Preemption.NodeStatuses = map[string]*status{}
	statuses.ForEachExplicitNode(func(name string, each *fwk.Status) {
		d.out.Preemption.NodeStatuses[name] = newStatus(each)
	})
	d.choose(plugin.CandidatesToVictimsMap(found))
}

func (d *decider) choose(victims map[string]*extenderv1.Victims) {
	d.out.Preemption.Candidates = map[string]candidate{}
	var names []string
	for name, each := range victims {
		names = append(names, name)
		keys := make([]string, len(each.Pods))
		for index, pod := range each.Pods {
			keys[index] = pod.Namespace + "/" + pod.Name
		}
		d.out.Preemption.Candidates[name] = candidate{Pods: keys, NumPDBViolations: each.NumPDBViolations}
	}
	slices.Sort(names)
	for _, criterion := range criteria {
		names = best(names, func(name string) int64 { return criterion(victims[name]) })
	}
	d.out.Preemption.Best = names
	if len(names) == 1 {
		d.out.Preemption.NominatedNode = names[0]
		d.out.Preemption.Victims = d.out.Preemption.Candidates[names[0]].Pods
	}
}

// criteria rank the candidates as the scheduler does; higher is better. The scheduler's own code returns the node that
// it chooses, but not the nodes that tie with it. If only one node is best, the scheduler must have chosen it.
var criteria = []func(*extenderv1.Victims) int64{
	func(each *extenderv1.Victims) int64 { return -each.NumPDBViolations },
	func(each *extenderv1.Victims) int64 { return -int64(corev1helpers.PodPriority(each.Pods[0])) },
	func(each *extenderv1.Victims) int64 {
		sum := int64(0)
		for _, pod := range each.Pods {
			sum += int64(corev1helpers.PodPriority(pod)) + math.MaxInt32 + 1
		}
		return -sum
	},
	func(each *extenderv1.Victims) int64 { return -int64(len(each.Pods)) },
	func(each *extenderv1.Victims) int64 {
		if started := util.GetEarliestPodStartTime(each); started != nil {
			return started.UnixNano()
		}
		return math.MinInt64
	},
}
