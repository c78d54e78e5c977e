package main

import (
	"context"
	"slices"

	fwk "k8s.io/kube-scheduler/framework"
)

type score struct {
	Raw        int64 `json:"raw"`
	Normalized int64 `json:"normalized"`
	Weighted   int64 `json:"weighted"`
}

// score scores the nodes that fit, even a single one, which the scheduler would not score.
func (d *decider) score(ctx context.Context, state fwk.CycleState) {
	d.out.NotScored = len(d.feasible) == 1 || !d.profile.HasScorePlugins()
	if len(d.feasible) > 1 && slices.Contains(d.out.Feasible, d.pod.Status.NominatedNodeName) {
		d.out.NominatedOnly = d.pod.Status.NominatedNodeName
	}
	d.out.Total = map[string]int64{}
	if !d.profile.HasScorePlugins() {
		for _, name := range d.out.Feasible {
			d.out.Total[name] = 1
		}
		d.out.Best = d.out.Feasible
		return
	}
	if err := d.runScores(ctx, state); err != nil {
		d.out.ScoreError = err.Error()
		return
	}
	d.out.Best = best(d.out.Feasible, func(name string) int64 { return d.out.Total[name] })
}

func (d *decider) runScores(ctx context.Context, state fwk.CycleState) error {
	if found := d.profile.RunPreScorePlugins(ctx, state, d.pod, d.feasible); !found.IsSuccess() {
		return found.AsError()
	}
	table, found := d.profile.RunScorePlugins(ctx, state, d.pod, d.feasible)
	if !found.IsSuccess() {
		return found.AsError()
	}
	d.out.Weights = map[string]int64{}
	d.out.Scores = map[string]map[string]score{}
	for _, each := range d.enabled.Score.Enabled {
		d.out.Weights[each.Name] = int64(each.Weight)
		if state.GetSkipScorePlugins().Has(each.Name) {
			d.out.SkippedScore = append(d.out.SkippedScore, each.Name)
			continue
		}
		scores, err := d.scoreAlone(ctx, state, d.plugins[each.Name].(fwk.ScorePlugin))
		if err != nil {
			return err
		}
		d.out.Scores[each.Name] = scores
	}
	slices.Sort(d.out.SkippedScore)
	for _, row := range table {
		d.out.Total[row.Name] = row.TotalScore
		for _, each := range row.Scores {
			if entry, scored := d.out.Scores[each.Name][row.Name]; scored {
				entry.Weighted = each.Score
				d.out.Scores[each.Name][row.Name] = entry
			}
		}
	}
	return nil
}

// scoreAlone returns one plugin's raw and normalized scores, because the framework returns only weighted ones.
func (d *decider) scoreAlone(ctx context.Context, state fwk.CycleState, plugin fwk.ScorePlugin) (map[string]score, error) {
	list := make(fwk.NodeScoreList, len(d.feasible))
	for index, node := range d.feasible {
		raw, found := plugin.Score(ctx, state, d.pod, node)
		if !found.IsSuccess() {
			return nil, found.AsError()
		}
		list[index] = fwk.NodeScore{Name: node.Node().Name, Score: raw}
	}
	scores := map[string]score{}
	raw := slices.Clone(list)
	if extensions := plugin.ScoreExtensions(); extensions != nil {
		if found := extensions.NormalizeScore(ctx, state, d.pod, list); !found.IsSuccess() {
			return nil, found.AsError()
		}
	}
	for index, each := range list {
		scores[each.Name] = score{Raw: raw[index].Score, Normalized: each.Score}
	}
	return scores, nil
}

// best returns the names with the highest value.
func best(names []string, value func(string) int64) []string {
	var tied []string
	for _, name := range names {
		if len(tied) > 0 && value(name) > value(tied[0]) {
			tied = nil
		}
		if len(tied) == 0 || value(name) == value(tied[0]) {
			tied = append(tied, name)
		}
	}
	return tied
}
