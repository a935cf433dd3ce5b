// Command controlplane is etcd, kube-apiserver and kube-scheduler, unchanged, in one program that is
// compiled and linked once: the first argument says which it shall be, the rest is that one's own.
// It ends when its standard input does, so that nothing is left of a test that was killed.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	// What upstream's own programs register: logs as JSON, metrics of clients and of the version.
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
)

const usage = "usage: controlplane etcd|kube-apiserver|kube-scheduler [flags]"

func main() {
	if len(os.Args) < 2 {
		fail(usage)
	}
	go endWithInput()
	// From here on flags are read, and the program is named, as if there were three.
	os.Args = os.Args[1:]
	switch os.Args[0] {
	case "etcd":
		etcdmain.Main(os.Args)
	case "kube-apiserver":
		run(apiserver.NewAPIServerCommand())
	case "kube-scheduler":
		run(scheduler.NewSchedulerCommand())
	default:
		fail(fmt.Sprintf("%q is none of them; %s", os.Args[0], usage))
	}
}

func run(command *cobra.Command) {
	os.Exit(cli.Run(command))
}

func endWithInput() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	fail("standard input has ended, and with it the test that started this")
}

func fail(message string) {
	fmt.Fprintln(os.Stderr, message)
	os.Exit(2)
}
