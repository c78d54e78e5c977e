// Command kube-controller-manager runs the controllers that tests need, such as those of Deployments and volumes.
package main

import (
	"os"
	_ "time/tzdata" // CronJobs can name time zones that a minimal system lacks

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // adds the request metrics of its client
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

func main() {
	os.Exit(cli.Run(app.NewControllerManagerCommand()))
}
