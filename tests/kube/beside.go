package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	sigsjson "sigs.k8s.io/json"
)

// besideFlags are those of `kube beside`.
type besideFlags struct {
	script, setting, answers string
	exact                    bool
	limit                    int
	seconds                  float64
}

// scriptHead is the first line of a script of `benches/beside`.
type scriptHead struct {
	Workload string         `json:"workload"`
	Config   map[string]any `json:"config"`
	// KeepsDefaults: default spread constraints are what it is about.
	KeepsDefaults bool `json:"keepsDefaults"`
	// Confirm: bindings are seen as events.
	Confirm bool `json:"confirm"`
}

// scriptLine is one of the others.
type scriptLine struct {
	// Apply is Added, Modified or Deleted.
	Apply  string          `json:"apply"`
	Kind   string          `json:"kind"`
	Object json.RawMessage `json:"object"`
	// Turns are so many attempts.
	Turns int `json:"turns"`
	// Measure: what follows counts.
	Measure bool `json:"measure"`

	object runtime.Object
}

// beside runs a script and prints what it took; with answers, it judges them instead.
func beside(args []string) error {
	var own besideFlags
	flags := flag.NewFlagSet("beside", flag.ExitOnError)
	flags.StringVar(&own.script, "script", "", "file with the script")
	flags.StringVar(&own.setting, "setting", "default", "default, all (nodes are scored) or tuned")
	flags.StringVar(&own.answers, "check", "", "file with answers, a line for each line of turns")
	flags.BoolVar(&own.exact, "exact", false, "answers are to be kube-scheduler's own")
	flags.IntVar(&own.limit, "limit", 2000, "attempts that count, or are judged, at most")
	flags.Float64Var(&own.seconds, "seconds", 60, "after so long no more count, or are judged")
	if err := flags.Parse(args); err != nil {
		return err
	}
	head, lines, err := readScript(own.script)
	if err != nil {
		return err
	}
	cfg, err := settingOf(own.setting, head)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if own.answers != "" {
		return check(ctx, cfg, head, lines, &own)
	}
	if own.setting == "tuned" {
		debug.SetGCPercent(400)
	}
	c, err := newCourse(ctx, cfg, head, scheduler.WithParallelism(16))
	if err != nil {
		return err
	}
	told, err := c.follow(ctx, lines, own.limit, time.Duration(own.seconds*float64(time.Second)))
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(told)
}

// settingOf is the script's configuration as the setting changes it. Opportunistic batching is on by
// default, but of use only without default spread constraints.
func settingOf(setting string, head *scriptHead) (*config.KubeSchedulerConfiguration, error) {
	written := head.Config
	switch setting {
	case "default":
	case "all":
		written["percentageOfNodesToScore"] = 100
	case "tuned":
		if !head.KeepsDefaults && written["profiles"] == nil {
			spread := map[string]any{"defaultingType": "List", "defaultConstraints": []any{}}
			written["profiles"] = []any{map[string]any{
				"schedulerName": v1.DefaultSchedulerName,
				"pluginConfig":  []any{map[string]any{"name": "PodTopologySpread", "args": spread}},
			}}
		}
	default:
		return nil, fmt.Errorf("there is no setting %q", setting)
	}
	return configuration(&scenario{Config: written})
}

func readScript(path string) (*scriptHead, []scriptLine, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	texts := bufio.NewScanner(file)
	texts.Buffer(nil, 1<<24)
	if !texts.Scan() {
		return nil, nil, fmt.Errorf("%s is empty", path)
	}
	head := &scriptHead{}
	if err := json.Unmarshal(texts.Bytes(), head); err != nil {
		return nil, nil, err
	}
	var lines []scriptLine
	for texts.Scan() {
		var line scriptLine
		if err := json.Unmarshal(texts.Bytes(), &line); err != nil {
			return nil, nil, err
		}
		if line.Apply != "" {
			if line.object = newObject(line.Kind); line.object == nil {
				return nil, nil, fmt.Errorf("objects of kind %s are in no script", line.Kind)
			}
			if err := sigsjson.UnmarshalCaseSensitivePreserveInts(line.Object, line.object); err != nil {
				return nil, nil, err
			}
			line.Object = nil
		}
		lines = append(lines, line)
	}
	return head, lines, texts.Err()
}

func newObject(kind string) runtime.Object {
	switch kind {
	case "Pod":
		return &v1.Pod{}
	case "Node":
		return &v1.Node{}
	case "Namespace":
		return &v1.Namespace{}
	case "Service":
		return &v1.Service{}
	case "PersistentVolume":
		return &v1.PersistentVolume{}
	case "PersistentVolumeClaim":
		return &v1.PersistentVolumeClaim{}
	case "CSINode":
		return &storagev1.CSINode{}
	}
	return nil
}

// indexer is where the scheduler looks for objects of a kind.
func (c *cluster) indexer(kind string) cache.Indexer {
	core, storage := c.factory.Core().V1(), c.factory.Storage().V1()
	switch kind {
	case "Pod":
		return core.Pods().Informer().GetIndexer()
	case "Node":
		return core.Nodes().Informer().GetIndexer()
	case "Namespace":
		return core.Namespaces().Informer().GetIndexer()
	case "Service":
		return core.Services().Informer().GetIndexer()
	case "PersistentVolume":
		return core.PersistentVolumes().Informer().GetIndexer()
	case "PersistentVolumeClaim":
		return core.PersistentVolumeClaims().Informer().GetIndexer()
	}
	return storage.CSINodes().Informer().GetIndexer()
}
