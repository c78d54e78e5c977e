package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	_ "k8s.io/kubernetes/pkg/apis/apps/install" // registers the types that the scheme converts
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/policy"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	policyvalidation "k8s.io/kubernetes/pkg/apis/policy/validation"
	"k8s.io/kubernetes/pkg/apis/storage"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	storagevalidation "k8s.io/kubernetes/pkg/apis/storage/validation"
)

var internalVersions = runtime.InternalGroupVersioner

// validateCase returns the reasons why the API server would refuse the case's objects. It accepts tolerations with
// comparison operators even if their gate is off: a scheduler can meet them after the gate is turned off.
func validateCase(input *caseInput) []string {
	var refusals []string
	for _, object := range append(input.objects(), input.Pod) {
		sent := object.DeepCopyObject()
		legacyscheme.Scheme.Default(sent)
		internal, err := legacyscheme.Scheme.ConvertToVersion(sent, internalVersions)
		if err != nil {
			refusals = append(refusals, fmt.Sprintf("%T: %v", object, err))
			continue
		}
		for _, refusal := range validate(internal) {
			refusals = append(refusals, fmt.Sprintf("%T: %v", object, refusal))
		}
	}
	return refusals
}

func validate(object runtime.Object) field.ErrorList {
	switch each := object.(type) {
	case *core.Pod:
		options := podutil.GetValidationOptionsFromPodSpecAndMeta(&each.Spec, nil, &each.ObjectMeta, nil)
		options.ResourceIsPod = true
		options.AllowTaintTolerationComparisonOperators = true
		return corevalidation.ValidatePodCreate(each, options)
	case *core.Node:
		return corevalidation.ValidateNode(each)
	case *core.PersistentVolume:
		return corevalidation.ValidatePersistentVolume(each, corevalidation.ValidationOptionsForPersistentVolume(each, nil))
	case *core.PersistentVolumeClaim:
		return corevalidation.ValidatePersistentVolumeClaim(each, corevalidation.ValidationOptionsForPersistentVolumeClaimCreate())
	case *storage.StorageClass:
		return storagevalidation.ValidateStorageClass(each)
	case *storage.CSINode:
		return storagevalidation.ValidateCSINode(each)
	case *policy.PodDisruptionBudget:
		return policyvalidation.ValidatePodDisruptionBudget(each, policyvalidation.PodDisruptionBudgetValidationOptions{})
	}
	return nil
}
