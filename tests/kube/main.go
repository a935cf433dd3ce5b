// Command kube says what kube-scheduler 1.37.2 decides: scenarios in, a line each; verdicts out.
//
// It links upstream's own scheduler: the profiles, plugins, cache and snapshot are those that the
// kube-scheduler binary has. What is ours is the procedure around them (verdict.go), which looks at
// every node and tells everything. README.md beside this file describes the lines. `kube beside` times
// it on a script instead, or checks another scheduler's answers (beside.go).
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"k8s.io/klog/v2"
	sigsjson "sigs.k8s.io/json"
)

// answer is a line of output.
type answer struct {
	Pods     []*verdict `json:"pods"`
	Scenario int64      `json:"scenario"`
	Strategy string     `json:"strategy,omitempty"`
	// Of a scenario with admit: the input as an API server would hold it, and by object why it refused.
	Input   *input            `json:"input,omitempty"`
	Refused map[string]string `json:"refused,omitempty"`
	// The scenario as a whole makes no sense; there are no verdicts.
	Error string `json:"error,omitempty"`
}

func main() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	act := func() error { return run(os.Stdin, os.Stdout) }
	if len(os.Args) > 1 && os.Args[1] == "beside" {
		act = func() error { return beside(os.Args[2:]) }
	}
	if err := act(); err != nil {
		fmt.Fprintln(os.Stderr, "kube:", err)
		os.Exit(1)
	}
}

// run answers each line at once, so that a caller may wait for the answer before it goes on.
func run(from io.Reader, to io.Writer) error {
	lines := bufio.NewReaderSize(from, 1<<20)
	out := bufio.NewWriter(to)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 1 {
			if err := encoder.Encode(answerLine(line)); err != nil {
				return err
			}
			if err := out.Flush(); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func answerLine(line []byte) *answer {
	var s scenario
	strict, err := sigsjson.UnmarshalStrict(line, &s)
	if err == nil && len(strict) > 0 {
		err = strict[0]
	}
	told := &answer{Scenario: s.Scenario, Strategy: s.Strategy}
	if err == nil {
		if s.Admit {
			told.Refused, err = admit(&s.Input)
			told.Input = &s.Input
		}
	}
	if err == nil {
		told.Pods, err = decide(&s)
	}
	if err != nil {
		return &answer{Scenario: s.Scenario, Error: err.Error()}
	}
	return told
}
