package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// decision is kube-scheduler's decision for a case; tests/parity/vectors/README.md describes the fields.
type decision struct {
	ID                   string                        `json:"id"`
	ConfigError          string                        `json:"configError,omitempty"`
	Error                string                        `json:"error,omitempty"`
	PreEnqueue           map[string]*status            `json:"preEnqueue,omitempty"`
	PreFilter            map[string]*status            `json:"prefilter,omitempty"`
	PreFilterResult      *status                       `json:"prefilterResult,omitempty"`
	Filter               map[string]any                `json:"filter,omitempty"`
	FilterAll            map[string]map[string]*status `json:"filterAll,omitempty"`
	Feasible             []string                      `json:"feasible"`
	SkippedScore         []string                      `json:"skippedScore,omitempty"`
	Weights              map[string]int64              `json:"weights,omitempty"`
	Scores               map[string]map[string]score   `json:"scores,omitempty"`
	Total                map[string]int64              `json:"total,omitempty"`
	Best                 []string                      `json:"best,omitempty"`
	NotScored            bool                          `json:"notScored,omitempty"`
	ScoreError           string                        `json:"scoreError,omitempty"`
	NominatedOnly        string                        `json:"nominatedOnly,omitempty"`
	ScheduleError        string                        `json:"scheduleError,omitempty"`
	FitErrorMessage      string                        `json:"fitErrorMessage,omitempty"`
	FitErrorMessageFull  string                        `json:"fitErrorMessageFull,omitempty"`
	UnschedulablePlugins []string                      `json:"unschedulablePlugins,omitempty"`
	Preemption           *preemption                   `json:"preemption,omitempty"`
}

type status struct {
	Code         string   `json:"code"`
	Plugin       string   `json:"plugin,omitempty"`
	Reasons      []string `json:"reasons,omitempty"`
	Nodes        []string `json:"nodes,omitempty"`
	NodesPlugins []string `json:"nodesPlugins,omitempty"`
}

func newStatus(from *fwk.Status) *status {
	if from == nil { // nil is success
		return &status{Code: fwk.Success.String()}
	}
	reasons := slices.Clone(from.Reasons())
	slices.Sort(reasons)
	return &status{Code: from.Code().String(), Plugin: from.Plugin(), Reasons: reasons}
}

// decide returns the decision for a case. A refused configuration, an error and a panic are decisions too, so that the
// other cases still run.
func decide(input *caseInput) (out *decision) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer func() {
		if fault := recover(); fault != nil {
			out = &decision{ID: input.ID, Error: fmt.Sprintf("panic: %v", fault)}
		}
	}()
	found, err := newCluster(ctx, input)
	if refused := (configError{}); errors.As(err, &refused) {
		return &decision{ID: input.ID, ConfigError: refused.Error()}
	}
	if err != nil {
		return &decision{ID: input.ID, Error: err.Error()}
	}
	run := &decider{cluster: found, pod: input.Pod, out: &decision{ID: input.ID, Feasible: []string{}}}
	run.decide(ctx)
	return run.out
}

// decider runs the extension points for one pod, one after the other.
type decider struct {
	*cluster
	pod      *v1.Pod
	out      *decision
	feasible []fwk.NodeInfo
}

func (d *decider) decide(ctx context.Context) {
	d.preEnqueue(ctx)
	d.preFilterAlone(ctx)
	state := framework.NewCycleState()
	d.filter(ctx, state)
	d.filterAll(ctx)
	if len(d.feasible) > 0 {
		d.score(ctx, state)
	}
	d.schedule(ctx)
}

func (d *decider) preEnqueue(ctx context.Context) {
	d.out.PreEnqueue = map[string]*status{}
	for _, plugin := range d.profile.PreEnqueuePlugins() {
		if held := plugin.PreEnqueue(ctx, d.pod); !held.IsSuccess() {
			d.out.PreEnqueue[plugin.Name()] = newStatus(held)
		}
	}
}

func (d *decider) preFilterAlone(ctx context.Context) {
	d.out.PreFilter = map[string]*status{}
	for _, each := range d.enabled.PreFilter.Enabled {
		result, found := d.runPreFilter(ctx, each.Name, framework.NewCycleState())
		d.out.PreFilter[each.Name] = withNodes(newStatus(found), result)
	}
}

func (d *decider) runPreFilter(ctx context.Context, name string, state fwk.CycleState) (*fwk.PreFilterResult, *fwk.Status) {
	return d.plugins[name].(fwk.PreFilterPlugin).PreFilter(ctx, state, d.pod, d.nodes)
}

func withNodes(to *status, result *fwk.PreFilterResult) *status {
	if !result.AllNodes() {
		to.Nodes = sets.List(result.NodeNames)
	}
	return to
}

// filter runs all Filter plugins on every node, even on nodes that the scheduler would skip.
func (d *decider) filter(ctx context.Context, state fwk.CycleState) {
	result, found, narrowing := d.profile.RunPreFilterPlugins(ctx, state, d.pod)
	d.out.PreFilterResult = withNodes(newStatus(found), result)
	d.out.PreFilterResult.NodesPlugins = sets.List(narrowing)
	d.out.Filter = map[string]any{}
	for _, node := range d.nodes {
		name := node.Node().Name
		verdict := found
		switch {
		case !found.IsSuccess():
		case !result.AllNodes() && !result.NodeNames.Has(name):
			verdict = d.outside(narrowing)
		default:
			verdict = d.profile.RunFilterPluginsWithNominatedPods(ctx, state, d.pod, node)
		}
		if verdict.IsSuccess() {
			d.out.Filter[name] = "ok"
			d.feasible = append(d.feasible, node)
			d.out.Feasible = append(d.out.Feasible, name)
		} else {
			d.out.Filter[name] = newStatus(verdict)
		}
	}
	slices.Sort(d.out.Feasible)
}

func (d *decider) outside(narrowing sets.Set[string]) *fwk.Status {
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, notSatisfied(sets.List(narrowing)))
}

// filterAll runs each Filter plugin alone, after its own PreFilter.
func (d *decider) filterAll(ctx context.Context) {
	rejections := map[string]map[string]*status{}
	for _, each := range d.enabled.Filter.Enabled {
		state := framework.NewCycleState()
		if d.hasPreFilter(each.Name) {
			if _, found := d.runPreFilter(ctx, each.Name, state); !found.IsSuccess() {
				continue
			}
		}
		for _, node := range d.nodes {
			verdict := d.plugins[each.Name].(fwk.FilterPlugin).Filter(ctx, state, d.pod, node)
			if verdict.IsSuccess() {
				continue
			}
			name := node.Node().Name
			if rejections[name] == nil {
				rejections[name] = map[string]*status{}
			}
			rejections[name][each.Name] = newStatus(verdict)
		}
	}
	for name, statuses := range rejections {
		if len(statuses) < 2 {
			delete(rejections, name)
		}
	}
	d.out.FilterAll = rejections
}

func (d *decider) hasPreFilter(name string) bool {
	for _, each := range d.enabled.PreFilter.Enabled {
		if each.Name == name {
			return true
		}
	}
	return false
}
