// Command kube-controller-manager turns Deployments into Pods and finishes deletions.
package main

import (
	"os"
	_ "time/tzdata" // CronJobs name time zones that a bare machine may not know

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // its client's request metrics
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

func main() {
	os.Exit(cli.Run(app.NewControllerManagerCommand()))
}
