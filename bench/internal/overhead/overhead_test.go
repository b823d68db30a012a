package overhead

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/bench/internal/canned"
)

func TestParseSample(t *testing.T) {
	sample, err := parseSample([]byte("BenchmarkFindOne/goroutines=8 100 1500.5 ns/op 900.0 cpu-ns/op 64.0 B/op 2.000 allocs/op\n"))
	require.NoError(t, err)
	assert.InDeltaMapValues(t, map[string]float64{Time: 1500.5, ProcessorTime: 900, Bytes: 64, Allocations: 2}, sample, 1e-9)

	_, err = parseSample([]byte("BenchmarkFindOne 100 1500 ns/op\n"))
	assert.ErrorContains(t, err, "no cpu-ns/op")
	_, err = parseSample([]byte("nothing\n"))
	assert.ErrorContains(t, err, "no benchmark result")
}

// results has two arms, of which the second takes ten percent more time than the first in the same round.
func results() *Results {
	c := Case{"FindOne", 1}
	return &Results{
		Rounds: 3, Arms: []string{"upstream", "fork"}, Cases: []Case{c},
		Cells: []*Cell{
			{Case: c, Arm: "upstream", Operations: 5, Samples: map[string][]float64{
				Time: {100, 400, 200}, ProcessorTime: {0, 0, 0}, Bytes: {10, 10, 10}, Allocations: {1, 1, 1}}},
			{Case: c, Arm: "fork", Operations: 5, Samples: map[string][]float64{
				Time: {110, 440, 220}, ProcessorTime: {0, 0, 0}, Bytes: {10, 10, 10}, Allocations: {2, 2, 2}}},
		},
	}
}

func TestCompare(t *testing.T) {
	r := results()
	times := r.Compare(r.Cases[0], "fork", Time)
	assert.InDelta(t, 1.1, times.Ratio.Median, 1e-9)
	assert.Equal(t, 200.0, times.Before)
	assert.Equal(t, 220.0, times.After)
	assert.Equal(t, 2.0, r.Compare(r.Cases[0], "fork", Allocations).Ratio.Median)
	assert.Equal(t, 1.0, r.Compare(r.Cases[0], "fork", ProcessorTime).Ratio.Median, "nothing was measured")
	assert.InDelta(t, 1.1, r.Overall("fork", Time).Median, 1e-9)
	assert.Equal(t, 1.0, r.Overall("fork", ProcessorTime).Median)
}

func TestCompareKeepsTheOrderOfRounds(t *testing.T) {
	r := results()
	r.Compare(r.Cases[0], "fork", Time)
	assert.Equal(t, []float64{100, 400, 200}, r.Cells[0].Samples[Time])
	assert.Equal(t, []float64{110, 440, 220}, r.Cells[1].Samples[Time])
}

func TestText(t *testing.T) {
	assert.Equal(t, `BenchmarkFindOne/goroutines=1 5 110 ns/op 0 cpu-ns/op 10 B/op 2 allocs/op
BenchmarkFindOne/goroutines=1 5 440 ns/op 0 cpu-ns/op 10 B/op 2 allocs/op
BenchmarkFindOne/goroutines=1 5 220 ns/op 0 cpu-ns/op 10 B/op 2 allocs/op
`, results().Text("fork"))
}

// script writes a program that takes the place of the load.
func script(t *testing.T, name, text string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the program is a shell script")
	}
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700))
	return path
}

// answering is a load that says for each number the same, and writes something before it into a file.
func answering(log, something string) string {
	return `while read -r n; do echo "` + something + `" >> ` + log +
		`; echo "BenchmarkX 1 1000000 ns/op 1 cpu-ns/op 1 B/op 1 allocs/op"; done`
}

func TestMeasureTakesTurns(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	line := answering(log, "$0 $MONGODB_URI $n $* -")
	a, b := script(t, "a", line), script(t, "b", line)
	r, err := Measure(context.Background(), Config{
		Arms:  []Arm{{Name: "a", Program: a}, {Name: "b", Program: b, Options: "x=y"}},
		Cases: []Case{{"FindOne", 2}}, URI: "mongodb://h/?r=s", Database: "db",
		Rounds: 2, Run: 300_000_000, Slices: 3, Now: time.Now,
	})
	require.NoError(t, err)
	assert.Equal(t, []float64{1e6, 1e6}, r.Cell(Case{"FindOne", 2}, "b").Samples[Time])
	assert.Equal(t, 300, r.Cell(Case{"FindOne", 2}, "b").Operations)

	written, err := os.ReadFile(log)
	require.NoError(t, err)
	const arguments = " -workload FindOne -goroutines 2 -database db -\n" // without the URI, which may have a password
	ra, rb := a+" mongodb://h/?r=s 100"+arguments, b+" mongodb://h/?r=s&x=y 100"+arguments
	first := a + " mongodb://h/?r=s 20" + arguments
	number, ab, ba := first+first, ra+rb, rb+ra
	assert.Equal(t, number+(ab+ab+ba+ba)+(ba+ab+ab+ba), string(written))
}

func TestTurns(t *testing.T) {
	const arms = 3
	var order []int
	for slice := range 4 {
		for turn := range arms {
			order = append(order, turnOf(turn, slice, arms))
		}
	}
	assert.Equal(t, []int{0, 1, 2, 2, 1, 0, 1, 2, 0, 0, 2, 1}, order)
}

func TestMeasureServerHasItsOwnDatabase(t *testing.T) {
	server, err := canned.Start(context.Background())
	require.NoError(t, err)
	defer server.Close()
	log := filepath.Join(t.TempDir(), "log")
	program := script(t, "a", answering(log, "$6"))
	r, err := MeasureServer(context.Background(), Config{
		Arms: []Arm{{Name: "a", Program: program}}, Cases: []Case{{"FindOne", 1}}, URI: server.URI(), Rounds: 1, Slices: 1, Now: time.Now,
	})
	require.NoError(t, err)
	assert.Equal(t, 1, r.Rounds)
	written, err := os.ReadFile(log)
	require.NoError(t, err)
	names := strings.Fields(string(written))
	require.Len(t, names, 4, "two runs to find the number, one to set up, and one slice")
	assert.Regexp(t, "^bench_[A-Z0-9]+$", names[0])
	assert.Equal(t, names[0], names[1])

	_, err = MeasureServer(context.Background(), Config{URI: "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=10"})
	assert.ErrorContains(t, err, "fill the database bench_")
}

func TestMeasureKeepsTheLimit(t *testing.T) {
	program := script(t, "a", answering(os.DevNull, ""))
	now := time.Unix(0, 0)
	clock := func() time.Time {
		now = now.Add(time.Minute)
		return now
	}
	c := Config{
		Arms: []Arm{{Name: "a", Program: program}}, Cases: []Case{{"FindOne", 1}}, Rounds: 9, Slices: 2, Limit: 3 * time.Minute, Now: clock,
	}
	r, err := Measure(context.Background(), c)
	require.NoError(t, err)
	assert.Equal(t, 3, r.Rounds)
	assert.Len(t, r.Cells[0].Samples[Time], 3)
}

func TestMeasureReportsTheProgramsMessage(t *testing.T) {
	program := script(t, "a", "echo no server >&2; exit 1")
	_, err := Measure(context.Background(), Config{Arms: []Arm{{Name: "fork", Program: program}}, Cases: []Case{{"FindOne", 1}}, Now: time.Now})
	assert.ErrorContains(t, err, "FindOne/goroutines=1 with fork")
	assert.ErrorContains(t, err, "no server")
}
