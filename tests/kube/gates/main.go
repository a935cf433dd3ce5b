// Command gates writes the table of feature gates that kube-scheduler 1.37.2 knows: name, stage,
// default, whether that is locked, and whether the scheduler itself decides by it.
package main

import (
	"fmt"
	"os"
	"reflect"
	"sort"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	// Registers the gates.
	_ "k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
)

// Read by the scheduler beside those that it hands to its plugins.
var beside = []string{
	"CompositePodGroup", "ComponentFlagz", "ComponentStatusz", "CoordinatedLeaderElection",
	"DRAAdminAccess", "DRAExtendedResource", "DRAResourceClaimDeviceStatus", "DRAWorkloadResourceClaims",
	"DynamicResourceAllocation", "GenericWorkload", "InPlacePodVerticalScaling",
	"InPlacePodVerticalScalingSchedulerPreemption", "MatchLabelKeysInPodAffinity",
	"NominatedNodeNameForExpectation", "OpportunisticBatching", "PodGroupPreemptionPolicy",
	"PodSchedulingReadiness", "SchedulerAsyncAPICalls", "SchedulerAsyncPreemption",
	"SchedulerPopFromBackoffQ", "SchedulerPreQueueingHints", "TopologyAwareWorkloadScheduling",
	"InterPodAffinityHostnameFastPath", "ImageVolume", "DRADeviceTaints", "DRADeviceTaintRules",
}

func main() {
	read := map[string]bool{}
	for _, name := range beside {
		read[name] = true
	}
	// The plugins' own struct names a gate a field, with Enable before it.
	fields := reflect.TypeOf(feature.Features{})
	for i := 0; i < fields.NumField(); i++ {
		name := fields.Field(i).Name
		if len(name) > 6 && name[:6] == "Enable" {
			read[name[6:]] = true
		}
	}
	all := utilfeature.DefaultMutableFeatureGate.GetAll()
	var names []string
	for name := range all {
		if name != "AllAlpha" && name != "AllBeta" {
			names = append(names, string(name))
		}
	}
	sort.Strings(names)
	known := map[string]bool{}
	for _, name := range names {
		known[name] = true
		spec := all[featuregate.Feature(name)]
		stage := string(spec.PreRelease)
		if stage == "" {
			stage = "GA"
		}
		fmt.Printf("%s\t%s\t%t\t%t\t%t\n", name, stage, spec.Default, spec.LockToDefault, read[name])
	}
	// The field has a shorter name than its gate.
	delete(read, "AsyncPreemption")
	for name := range read {
		if !known[name] {
			fmt.Fprintln(os.Stderr, "gates: no gate is named", name)
		}
	}
}
