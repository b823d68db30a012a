package overhead

import (
	"fmt"
	"strconv"
	"strings"

	"mongofork/bench/internal/gobench"
)

// The units of a sample. Its time includes that of the server and of waiting, the processor time is the client's alone.
const (
	Time          = "ns/op"
	ProcessorTime = "cpu-ns/op"
	Bytes         = "B/op"
	Allocations   = "allocs/op"
)

// Units returns all units, in the order of reports.
func Units() []string { return []string{Time, ProcessorTime, Bytes, Allocations} }

// Case is a kind of operation and how many goroutines do it.
type Case struct {
	Workload   string `json:"workload"`
	Goroutines int    `json:"goroutines"`
}

func (c Case) String() string { return fmt.Sprintf("%s/goroutines=%d", c.Workload, c.Goroutines) }

// parseSample reads what a run printed: one line of Go's benchmark format.
func parseSample(output []byte) (map[string]float64, error) {
	results, err := gobench.Parse(output)
	if err != nil {
		return nil, err
	}
	sample := results[0].Values
	for _, unit := range Units() {
		if _, ok := sample[unit]; !ok {
			return nil, fmt.Errorf("no %s in %q", unit, output)
		}
	}
	return sample, nil
}

// Text returns the samples of an arm in Go's benchmark format, for benchstat.
func (r *Results) Text(arm string) string {
	var text strings.Builder
	for _, cell := range r.Cells {
		if cell.Arm != arm {
			continue
		}
		for round := range r.Rounds {
			fmt.Fprintf(&text, "Benchmark%s %d", cell.Case, cell.Operations)
			for _, unit := range Units() {
				fmt.Fprintf(&text, " %s %s", strconv.FormatFloat(cell.Samples[unit][round], 'f', -1, 64), unit)
			}
			text.WriteByte('\n')
		}
	}
	return text.String()
}
