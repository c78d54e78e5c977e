// Command oracle decides cases with kube-scheduler's own code, on client-go's fake clientset.
//
// It reads a case from each line of JSON, `{"case": INPUT}` or INPUT alone. It writes the decisions in the same order, in
// the format of the vectors: `{"case": INPUT, "expect": DECISION}`. With -validate it drops cases with an object that
// the API server would refuse, and names them on standard error.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"

	"k8s.io/klog/v2"
)

const (
	longestLine = 64 << 20
	// The number of cases that run at a time: many more than cores, because a case mostly waits for its informers.
	concurrency = 64
)

func main() {
	validate := flag.Bool("validate", false, "drop cases with objects that the API server would refuse")
	flag.Parse()
	klog.SetLogger(klog.Logger{}) // do not log the scheduler's messages
	if err := run(os.Stdin, os.Stdout, *validate); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

type line struct {
	raw      json.RawMessage
	input    *caseInput
	invalid  []string
	decision *decision
}

type answer struct {
	Case   json.RawMessage `json:"case"`
	Expect *decision       `json:"expect"`
}

func run(in io.Reader, out io.Writer, validate bool) error {
	lines, err := readLines(in)
	if err != nil {
		return err
	}
	for _, batch := range byGates(lines) {
		if err := decideBatch(batch, validate); err != nil {
			return err
		}
	}
	return writeLines(out, lines)
}

func readLines(in io.Reader) ([]*line, error) {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(make([]byte, 1<<20), longestLine)
	var lines []*line
	for number := 1; scanner.Scan(); number++ {
		if len(scanner.Bytes()) == 0 {
			continue
		}
		raw, input, err := readCase(append([]byte(nil), scanner.Bytes()...))
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		lines = append(lines, &line{raw: raw, input: input})
	}
	return lines, scanner.Err()
}

// byGates groups lines by feature gates, because gates are global to the process.
func byGates(lines []*line) map[string][]*line {
	batches := map[string][]*line{}
	for _, each := range lines {
		key, _ := json.Marshal(each.input.FeatureGates) // Marshal sorts the keys
		batches[string(key)] = append(batches[string(key)], each)
	}
	return batches
}

func decideBatch(batch []*line, validate bool) error {
	restore, err := setGates(batch[0].input.FeatureGates)
	if err != nil {
		return err
	}
	defer restore()
	var group sync.WaitGroup
	slots := make(chan struct{}, concurrency)
	for _, each := range batch {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			if validate {
				each.invalid = validateCase(each.input)
			}
			if len(each.invalid) == 0 {
				each.decision = decide(each.input)
			}
		})
	}
	group.Wait()
	return nil
}

func writeLines(out io.Writer, lines []*line) error {
	writer := bufio.NewWriter(out)
	encoder := json.NewEncoder(writer)
	encoder.SetEscapeHTML(false)
	for _, each := range lines {
		if len(each.invalid) > 0 {
			fmt.Fprintf(os.Stderr, "%s is dropped: %s\n", each.input.ID, each.invalid[0])
			continue
		}
		if err := encoder.Encode(answer{Case: each.raw, Expect: each.decision}); err != nil {
			return err
		}
	}
	return writer.Flush()
}
