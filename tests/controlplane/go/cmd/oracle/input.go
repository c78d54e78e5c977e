package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
)

// caseInput is a cluster, one pod and an optional configuration.
type caseInput struct {
	ID           string          `json:"id"`
	Tags         []string        `json:"tags"`
	Config       json.RawMessage `json:"config"`
	FeatureGates map[string]bool `json:"featureGates"`

	Pod   *v1.Pod    `json:"pod"`
	Nodes []*v1.Node `json:"nodes"`
	Pods  []*v1.Pod  `json:"pods"`

	PVs                  []*v1.PersistentVolume          `json:"pvs"`
	PVCs                 []*v1.PersistentVolumeClaim     `json:"pvcs"`
	StorageClasses       []*storagev1.StorageClass       `json:"storageClasses"`
	CSINodes             []*storagev1.CSINode            `json:"csinodes"`
	CSIDrivers           []*storagev1.CSIDriver          `json:"csidrivers"`
	CSIStorageCapacities []*storagev1.CSIStorageCapacity `json:"csiStorageCapacities"`
	VolumeAttachments    []*storagev1.VolumeAttachment   `json:"volumeAttachments"`
	Services             []*v1.Service                   `json:"services"`
	Controllers          []*v1.ReplicationController     `json:"replicationControllers"`
	ReplicaSets          []*appsv1.ReplicaSet            `json:"replicaSets"`
	StatefulSets         []*appsv1.StatefulSet           `json:"statefulSets"`
	Namespaces           []*v1.Namespace                 `json:"namespaces"`
	PDBs                 []*policyv1.PodDisruptionBudget `json:"pdbs"`
	DeviceClasses        []*resourcev1.DeviceClass       `json:"deviceClasses"`
	ResourceClaims       []*resourcev1.ResourceClaim     `json:"resourceClaims"`
	ResourceSlices       []*resourcev1.ResourceSlice     `json:"resourceSlices"`
}

// readCase returns the case's text and the decoded case; unknown fields are an error.
func readCase(text []byte) (json.RawMessage, *caseInput, error) {
	var wrapped struct {
		Case json.RawMessage `json:"case"`
	}
	if err := json.Unmarshal(text, &wrapped); err != nil {
		return nil, nil, err
	}
	raw := wrapped.Case
	if raw == nil {
		raw = text
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	input := &caseInput{}
	if err := decoder.Decode(input); err != nil {
		return nil, nil, fmt.Errorf("case %q: %w", input.ID, err)
	}
	if input.Pod == nil {
		return nil, nil, fmt.Errorf("case %q has no pod", input.ID)
	}
	input.setDefaults()
	return raw, input, nil
}

// setDefaults sets the defaults that the API server would set and that cases may lack, and drops finished pods.
func (c *caseInput) setDefaults() {
	c.Pods = slices.DeleteFunc(c.Pods, func(pod *v1.Pod) bool {
		return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
	})
	for _, pod := range append(slices.Clone(c.Pods), c.Pod) {
		setDefaultNamespace(pod)
		if pod.UID == "" {
			pod.UID = types.UID(pod.Namespace + "/" + pod.Name)
		}
		if pod.Spec.SchedulerName == "" {
			pod.Spec.SchedulerName = v1.DefaultSchedulerName
		}
	}
	for _, object := range c.namespaced() {
		setDefaultNamespace(object)
	}
}

func setDefaultNamespace(object metav1.Object) {
	if object.GetNamespace() == "" {
		object.SetNamespace(metav1.NamespaceDefault)
	}
}

func (c *caseInput) namespaced() []metav1.Object {
	var objects []metav1.Object
	objects = appendMeta(objects, c.PVCs)
	objects = appendMeta(objects, c.CSIStorageCapacities)
	objects = appendMeta(objects, c.Services)
	objects = appendMeta(objects, c.Controllers)
	objects = appendMeta(objects, c.ReplicaSets)
	objects = appendMeta(objects, c.StatefulSets)
	objects = appendMeta(objects, c.PDBs)
	return appendMeta(objects, c.ResourceClaims)
}

func appendMeta[T metav1.Object](objects []metav1.Object, more []T) []metav1.Object {
	for _, object := range more {
		objects = append(objects, object)
	}
	return objects
}

// objects returns the objects of the cluster; the case's pod is among them only if it has no node.
func (c *caseInput) objects() []runtime.Object {
	var objects []runtime.Object
	objects = appendObjects(objects, c.Nodes)
	objects = appendObjects(objects, c.Pods)
	if c.Pod.Spec.NodeName == "" {
		objects = append(objects, c.Pod)
	}
	objects = appendObjects(objects, c.PVs)
	objects = appendObjects(objects, c.PVCs)
	objects = appendObjects(objects, c.StorageClasses)
	objects = appendObjects(objects, c.CSINodes)
	objects = appendObjects(objects, c.CSIDrivers)
	objects = appendObjects(objects, c.CSIStorageCapacities)
	objects = appendObjects(objects, c.VolumeAttachments)
	objects = appendObjects(objects, c.Services)
	objects = appendObjects(objects, c.Controllers)
	objects = appendObjects(objects, c.ReplicaSets)
	objects = appendObjects(objects, c.StatefulSets)
	objects = appendObjects(objects, c.Namespaces)
	objects = appendObjects(objects, c.PDBs)
	objects = appendObjects(objects, c.DeviceClasses)
	objects = appendObjects(objects, c.ResourceClaims)
	return appendObjects(objects, c.ResourceSlices)
}

func appendObjects[T runtime.Object](objects []runtime.Object, more []T) []runtime.Object {
	for _, object := range more {
		objects = append(objects, object)
	}
	return objects
}

// setGates sets feature gates of the process, and returns a function that resets them.
func setGates(gates map[string]bool) (func(), error) {
	mutable := utilfeature.DefaultMutableFeatureGate
	before := map[string]bool{}
	for name := range gates {
		before[name] = mutable.Enabled(featuregate.Feature(name))
	}
	if err := mutable.SetFromMap(maps.Clone(gates)); err != nil {
		return nil, err
	}
	return func() {
		if err := mutable.SetFromMap(before); err != nil {
			panic(err)
		}
	}, nil
}
