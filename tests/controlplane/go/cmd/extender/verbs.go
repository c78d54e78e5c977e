package main

import (
	"context"
	"fmt"
	"strconv"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

const (
	fitsLabel  = "extender.moorage.dev/fits"
	scoreLabel = "extender.moorage.dev/score"
)

type extender struct {
	client kubernetes.Interface
}

// filter returns names if the caller sent names, and nodes if it sent nodes. A node that does not fit is unresolvable,
// because preemption does not change its labels.
func (e extender) filter(ctx context.Context, args extenderv1.ExtenderArgs) (*extenderv1.ExtenderFilterResult, error) {
	nodes, err := e.candidates(ctx, args)
	if err != nil {
		return &extenderv1.ExtenderFilterResult{Error: err.Error()}, nil
	}
	fitting, names, failed := []v1.Node{}, []string{}, extenderv1.FailedNodesMap{}
	for _, node := range nodes {
		if !fits(node) {
			failed[node.Name] = fmt.Sprintf("node's label %s is not true", fitsLabel)
			continue
		}
		fitting = append(fitting, node)
		names = append(names, node.Name)
	}
	result := &extenderv1.ExtenderFilterResult{FailedAndUnresolvableNodes: failed}
	if args.NodeNames != nil {
		result.NodeNames = &names
	} else {
		result.Nodes = &v1.NodeList{Items: fitting}
	}
	return result, nil
}

// prioritize returns each node's score; 0 if the label is missing, not a number or out of range.
func (e extender) prioritize(ctx context.Context, args extenderv1.ExtenderArgs) (extenderv1.HostPriorityList, error) {
	nodes, err := e.candidates(ctx, args)
	if err != nil {
		return nil, err
	}
	priorities := extenderv1.HostPriorityList{}
	for _, node := range nodes {
		score, err := strconv.ParseInt(node.Labels[scoreLabel], 10, 64)
		if err != nil || score < extenderv1.MinExtenderPriority || score > extenderv1.MaxExtenderPriority {
			score = 0
		}
		priorities = append(priorities, extenderv1.HostPriority{Host: node.Name, Score: score})
	}
	return priorities, nil
}

func (e extender) bind(ctx context.Context, args extenderv1.ExtenderBindingArgs) (*extenderv1.ExtenderBindingResult, error) {
	binding := &v1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: args.PodNamespace, Name: args.PodName, UID: args.PodUID},
		Target:     v1.ObjectReference{Kind: "Node", Name: args.Node},
	}
	result := &extenderv1.ExtenderBindingResult{}
	if err := e.client.CoreV1().Pods(args.PodNamespace).Bind(ctx, binding, metav1.CreateOptions{}); err != nil {
		result.Error = err.Error()
	}
	return result, nil
}

// preempt returns the candidates that fit, with all their victims.
func (e extender) preempt(ctx context.Context, args extenderv1.ExtenderPreemptionArgs) (*extenderv1.ExtenderPreemptionResult, error) {
	victims := args.NodeNameToMetaVictims
	if victims == nil {
		victims = withoutPods(args.NodeNameToVictims)
	}
	nodes, err := e.listed(ctx, func(name string) bool { return victims[name] != nil })
	if err != nil {
		return nil, err
	}
	kept := map[string]*extenderv1.MetaVictims{}
	for _, node := range nodes {
		if fits(node) {
			kept[node.Name] = victims[node.Name]
		}
	}
	return &extenderv1.ExtenderPreemptionResult{NodeNameToMetaVictims: kept}, nil
}

// candidates returns the nodes of the arguments; it skips names without a node.
func (e extender) candidates(ctx context.Context, args extenderv1.ExtenderArgs) ([]v1.Node, error) {
	if args.NodeNames == nil {
		if args.Nodes == nil {
			return nil, fmt.Errorf("the arguments hold neither nodes nor node names")
		}
		return args.Nodes.Items, nil
	}
	named := map[string]bool{}
	for _, name := range *args.NodeNames {
		named[name] = true
	}
	return e.listed(ctx, func(name string) bool { return named[name] })
}

func (e extender) listed(ctx context.Context, wanted func(name string) bool) ([]v1.Node, error) {
	list, err := e.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	nodes := []v1.Node{}
	for _, node := range list.Items {
		if wanted(node.Name) {
			nodes = append(nodes, node)
		}
	}
	return nodes, nil
}

func fits(node v1.Node) bool {
	return node.Labels[fitsLabel] == "true"
}

func withoutPods(victims map[string]*extenderv1.Victims) map[string]*extenderv1.MetaVictims {
	result := map[string]*extenderv1.MetaVictims{}
	for name, onNode := range victims {
		meta := &extenderv1.MetaVictims{NumPDBViolations: onNode.NumPDBViolations}
		for _, pod := range onNode.Pods {
			meta.Pods = append(meta.Pods, &extenderv1.MetaPod{UID: string(pod.UID)})
		}
		result[name] = meta
	}
	return result
}
