package main

import (
	"encoding/json"
	"fmt"

	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	configv1 "k8s.io/kubernetes/pkg/scheduler/apis/config/v1"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
)

// readConfiguration strictly decodes a profile or a whole configuration, sets defaults and validates it.
func readConfiguration(raw json.RawMessage) (*config.KubeSchedulerConfiguration, error) {
	body := map[string]any{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &body); err != nil {
			return nil, err
		}
		if _, whole := body["profiles"]; !whole {
			body = map[string]any{"profiles": []any{body}}
		}
	}
	body["apiVersion"] = configv1.SchemeGroupVersion.String()
	body["kind"] = "KubeSchedulerConfiguration"
	body["percentageOfNodesToScore"] = 100
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	object, _, err := scheme.Codecs.UniversalDecoder().Decode(text, nil, nil)
	if err != nil {
		return nil, err
	}
	configuration, ok := object.(*config.KubeSchedulerConfiguration)
	if !ok {
		return nil, fmt.Errorf("decoded a %T", object)
	}
	for index := range configuration.Profiles {
		configuration.Profiles[index].PercentageOfNodesToScore = nil
	}
	if refused := validation.ValidateKubeSchedulerConfiguration(configuration); refused != nil {
		return nil, refused
	}
	return configuration, nil
}
