// Package gobench reads and summarizes results in Go's benchmark format.
package gobench

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"
)

// Result is one line of output.
type Result struct {
	Name   string // without "Benchmark", with the number of processors if it was printed
	Values map[string]float64
}

// Parse reads the output of benchmarks. No result at all is an error.
func Parse(output []byte) ([]Result, error) {
	var results []Result
	reader := benchfmt.NewReader(bytes.NewReader(output), "the benchmark")
	for reader.Scan() {
		line, ok := reader.Result().(*benchfmt.Result)
		if !ok {
			continue
		}
		values := map[string]float64{}
		for _, v := range line.Values {
			// The library turns ns/op into sec/op, and keeps what was written.
			if v.OrigUnit != "" {
				values[v.OrigUnit] = v.OrigValue
			} else {
				values[v.Unit] = v.Value
			}
		}
		results = append(results, Result{Name: string(line.Name), Values: values})
	}
	if err := reader.Err(); err != nil {
		return nil, err
	}
	if len(results) == 0 {
		return nil, errors.Join(errNoResult, fmt.Errorf("output: %q", output))
	}
	return results, nil
}

var errNoResult = errors.New("no benchmark result")

// confidence is that of all intervals.
const confidence = 0.95

// Summary is the median of samples, and bounds of it with a confidence of 95 %, which are infinite for few samples. It
// assumes nothing of their distribution.
type Summary struct{ Median, Low, High float64 }

// Summarize returns the summary of at least one sample.
func Summarize(samples []float64) Summary {
	thresholds := benchmath.DefaultThresholds
	// NewSample sorts what it is given, and the order of samples tells which were measured in the same round.
	sample := benchmath.NewSample(slices.Clone(samples), &thresholds)
	s := benchmath.AssumeNothing.Summary(sample, confidence)
	return Summary{Median: s.Center, Low: s.Lo, High: s.Hi}
}
