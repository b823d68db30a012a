// Package gotest runs "go test -json", and turns its events into test cases that can be counted and compared.
package gotest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"mongofork/tools/process"
)

// Outcome is how a test ended.
type Outcome string

// The outcomes of a test. Missing is that of one that was never seen.
const (
	Missing Outcome = ""
	Passed  Outcome = "pass"
	Failed  Outcome = "fail"
	Skipped Outcome = "skip"
)

// Key names one test. Test is the full name of a test or subtest, or empty for anything outside the package's tests, such as a
// compile error.
type Key struct{ Package, Test string }

// String returns the key as "package Test/subtest".
func (k Key) String() string { return strings.TrimSuffix(k.Package+" "+k.Test, " ") }

// Function returns the key of the test function.
func (k Key) Function() Key {
	function, _, _ := strings.Cut(k.Test, "/")
	return Key{k.Package, function}
}

// Case is one test with its outcome.
type Case struct {
	Key
	Outcome Outcome
	Output  string
}

// unfinished ends the output of a case whose process ended before the case did.
const unfinished = "[the test process ended before this had a result]"

// Unfinished reports whether the case failed because its process ended, for any reason, before it had a result.
func (c Case) Unfinished() bool { return strings.HasSuffix(c.Output, unfinished) }

// message matches what testing.T.Log writes: an indented file name, the line number and the text, of several lines.
var message = regexp.MustCompile(`(?m)^\s*([^\s:]+\.go:\d+): (.*(?:\n {8,}[^\s-].*)*)$`)

// Said returns what the test logged last, and where. That is why it was skipped, because Skip logs and ends the test.
func (c Case) Said() (where, what string) {
	what = "no reason given"
	if all := message.FindAllStringSubmatch(c.Output, -1); all != nil {
		last := all[len(all)-1]
		where, what = last[1], cmp.Or(strings.Join(strings.Fields(last[2]), " "), what)
	}
	return where, what
}

// Result holds every test and package that one run of go test reported.
type Result map[Key]Case

// Add adds cases. Of several cases with the same key, a failure counts, or else the last one.
func (r Result) Add(cases Result) {
	for key, c := range cases {
		if r[key].Outcome != Failed {
			r[key] = c
		}
	}
}

// Cases returns the cases that count, sorted: tests without subtests; tests that failed although none of their subtests did; and
// packages that failed although none of their tests did.
func (r Result) Cases() []Case {
	isParent, blamed := map[Key]bool{}, map[Key]bool{}
	for key, c := range r {
		for key.Test != "" {
			key.Test = key.Test[:max(strings.LastIndexByte(key.Test, '/'), 0)] // its parent's, or that of the package
			isParent[key] = true
			blamed[key] = blamed[key] || c.Outcome == Failed
		}
	}
	counted := slices.SortedFunc(maps.Values(r), func(a, b Case) int { return strings.Compare(a.String(), b.String()) })
	return slices.DeleteFunc(counted, func(c Case) bool {
		leaf := c.Test != "" && !isParent[c.Key]
		return !leaf && (c.Outcome != Failed || blamed[c.Key])
	})
}

// Count returns the number of cases with an outcome.
func (r Result) Count(outcome Outcome) int {
	return len(slices.DeleteFunc(r.Cases(), func(c Case) bool { return c.Outcome != outcome }))
}

// event is one line of the stream; see "go doc test2json" and, for the build events, "go help buildjson".
type event struct {
	Action, Package, ImportPath, Test, Output, FailedBuild string
}

// parse reads a stream of events. A test without a result at the end of the stream counts as failed, because its process died. What is
// no event was written by a child process of a test or by the go command.
func parse(stream []byte) (r Result, stray string) {
	r = Result{}
	outputs, builds := map[Key]*strings.Builder{}, map[string]string{}
	for line := range bytes.Lines(stream) {
		var e event
		switch {
		case json.Unmarshal(line, &e) != nil || e.Action == "":
			stray += string(line)
		case e.Package == "":
			builds[e.ImportPath] += e.Output
		default:
			r.add(e, outputs, builds[e.FailedBuild])
		}
	}
	for key, c := range r {
		if c.Outcome != Passed {
			c.Output = outputs[key].String()
		}
		if c.Outcome == Missing {
			c.Outcome, c.Output = Failed, c.Output+unfinished
		}
		r[key] = c
	}
	return r, stray
}

func (r Result) add(e event, outputs map[Key]*strings.Builder, failedBuild string) {
	key := Key{e.Package, e.Test}
	if _, known := r[key]; !known {
		r[key], outputs[key] = Case{Key: key}, new(strings.Builder)
	}
	outputs[key].WriteString(e.Output + failedBuild)
	switch outcome := Outcome(e.Action); outcome {
	case Passed, Failed, Skipped:
		r.Add(Result{key: {Key: key, Outcome: outcome}})
	}
}

// Command is one run of "go test -json".
type Command struct {
	// Dir is the folder of the module, Env the whole environment.
	Dir string
	Env []string
	// Flags are further flags of go test, such as -race.
	Flags []string
	// Run is the argument of -run. Empty runs every test.
	Run string
	// Through, unless empty, is a program with its first arguments that runs the go command, and passes its output through.
	Through []string
	// Packages are the packages to test.
	Packages []string
}

// timeout limits each test binary. Upstream's tests take three minutes on an idle machine, and ten times that on a busy one.
const timeout = "1h"

// args returns the arguments of the go command. "make check" vets.
func (c Command) args() []string {
	args := append([]string{"test", "-json", "-vet=off", "-timeout=" + timeout}, c.Flags...)
	if c.Run != "" {
		args = append(args, "-run="+c.Run)
	}
	return append(args, c.Packages...)
}

// Go runs the command with the go command on the PATH. It is an error if no test could be run, but not if tests fail.
func Go(ctx context.Context, c Command) (Result, error) {
	words := slices.Concat(c.Through, []string{"go"}, c.args())
	cmd := process.Command(ctx, c.Dir, c.Env, words[0], words[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	defer process.Reap(cmd)
	err := errors.Join(cmd.Run(), ctx.Err())
	result, stray := parse(stdout.Bytes())
	var exit *exec.ExitError
	if err == nil || ctx.Err() == nil && errors.As(err, &exit) && result.Count(Failed) > 0 {
		return result, nil
	}
	// No test failed, so the go command itself did.
	return nil, fmt.Errorf("go test: %w: %s", err, strings.TrimSpace(stderr.String()+"\n"+stray))
}

// Pattern returns the argument of -run that selects exactly the named test or subtest.
func Pattern(test string) string {
	return "^" + strings.ReplaceAll(regexp.QuoteMeta(test), "/", "$/^") + "$"
}

// AnyOf returns the argument of -run that selects exactly the named test functions.
func AnyOf(functions []string) string { return "^(" + strings.Join(functions, "|") + ")$" }

// Fresh is the flag that takes no result from Go's cache of tests.
const Fresh = "-count=1"

// Only returns the command for some tests alone, fresh.
func (c Command) Only(cases []Case) Command {
	c.Packages, c.Flags = nil, append(slices.Clip(c.Flags), Fresh)
	patterns := make([]string, len(cases))
	for i, test := range cases {
		patterns[i] = Pattern(test.Test)
		c.Packages = append(c.Packages, test.Package)
	}
	slices.Sort(c.Packages)
	c.Packages = slices.Compact(c.Packages)
	c.Run = strings.Join(patterns, "|")
	return c
}
