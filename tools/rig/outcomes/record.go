// Package outcomes records the outcomes of upstream's tests in the untouched module, so that a run in the fork can be judged
// without running them there again.
package outcomes

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mongofork/tools/gotest"
)

// Record holds the outcomes of the tests of one run in the untouched module. Packages are named by their folders.
type Record struct {
	// Platform is the platform of the measurement, such as linux/amd64, and Server the server.
	Platform, Server string
	// Groups count the cases, except those of Varies.
	Groups map[string]Group
	// Failed are the cases that fail.
	Failed map[gotest.Key]bool
	// Fork are the cases that pass in the fork, with their outcomes in the untouched module.
	Fork map[gotest.Key]gotest.Outcome
	// Varies are tests, with their subtests, whose outcome varies between runs or machines, with the reason.
	Varies map[gotest.Key]string
}

// Group counts the outcomes of the cases of a package or of a specification. Record.Failed has the failed ones.
type Group struct {
	Passed, Skipped int
	// Hash is a hash of the cases' names and outcomes.
	Hash string
}

// hashLength is the length of a Hash in hexadecimal digits.
const hashLength = 12

// GroupOf returns a case's group: the specification for one of the unified tests, otherwise the package.
func GroupOf(key gotest.Key) string {
	function, rest, _ := strings.Cut(key.Test, "/")
	if specification, _, ok := strings.Cut(rest, "/"); ok && strings.Contains(rest, ".json") && strings.HasPrefix(function, "TestUnifiedSpec") {
		return key.Package + " " + function + "/" + specification
	}
	return key.Package
}

// outcomesOf returns the outcomes of the recorded cases, with packages named by their folders.
func outcomesOf(result *gotest.Result, module string, leaveOut func(gotest.Key) bool) map[gotest.Key]gotest.Outcome {
	all := map[gotest.Key]gotest.Outcome{}
	for _, c := range result.Cases() {
		if leaveOut == nil || !leaveOut(c.Key) {
			all[short(c.Key, module)] = c.Outcome
		}
	}
	return all
}

func short(key gotest.Key, module string) gotest.Key {
	return gotest.Key{Package: strings.TrimPrefix(strings.TrimPrefix(key.Package, module), "/"), Test: key.Test}
}

// varies returns the reason for not recording a case's outcome, or an empty string.
func (r *Record) varies(key gotest.Key) string {
	for test := key.Test; test != ""; {
		if reason, ok := r.Varies[gotest.Key{Package: key.Package, Test: test}]; ok {
			return reason
		}
		test = test[:max(strings.LastIndexByte(test, '/'), 0)]
	}
	return ""
}

// Vary reports whether the outcome of a case of a module varies.
func (r *Record) Vary(key gotest.Key, module string) bool { return r.varies(short(key, module)) != "" }

// count groups outcomes, except those that vary.
func (r *Record) count(all map[gotest.Key]gotest.Outcome) map[string]Group {
	names := map[string][]string{}
	groups := map[string]Group{}
	for key, outcome := range all {
		if r.varies(key) != "" {
			continue
		}
		name := GroupOf(key)
		g := groups[name]
		switch outcome {
		case gotest.Passed:
			g.Passed++
		case gotest.Skipped:
			g.Skipped++
		}
		groups[name] = g
		names[name] = append(names[name], outcome.String()+" "+key.String())
	}
	for name, g := range groups {
		slices.Sort(names[name])
		sum := sha256.Sum256([]byte(strings.Join(names[name], "\n")))
		g.Hash = hex.EncodeToString(sum[:])[:hashLength]
		groups[name] = g
	}
	return groups
}

// Measurement is the source of a record.
type Measurement struct {
	Platform, Server string
	// Module is the path of the module that all packages are of.
	Module string
	// Untouched are runs of the same tests in the untouched module, Fork one in the fork.
	Untouched []*gotest.Result
	Fork      *gotest.Result
	// Again says whether tests that failed in the untouched module passed there when repeated alone.
	Again map[gotest.Key]bool
	// Own reports which tests are ours.
	Own func(gotest.Key) bool
}

func (m Measurement) own(key gotest.Key) bool { return m.Own != nil && m.Own(key) }

// New makes a record. Cases that vary according to an earlier record, which may be nil, still vary; so do those with different
// outcomes in the runs.
func New(m Measurement, earlier *Record) *Record {
	r := &Record{
		Platform: m.Platform, Server: m.Server,
		Failed: map[gotest.Key]bool{}, Fork: map[gotest.Key]gotest.Outcome{}, Varies: map[gotest.Key]string{},
	}
	if earlier != nil {
		maps.Copy(r.Varies, earlier.Varies)
	}
	first := outcomesOf(m.Untouched[0], m.Module, m.Own)
	for key, reason := range unsteady(m, first) {
		if r.varies(key) == "" {
			r.Varies[key] = reason
		}
	}
	inFork := outcomesOf(m.Fork, m.Module, m.Own)
	for key, outcome := range first {
		switch {
		case r.varies(key) != "":
		case outcome == gotest.Failed && inFork[key] != gotest.Passed:
			r.Failed[key] = true
		case outcome != gotest.Passed && inFork[key] == gotest.Passed:
			r.Fork[key] = outcome
		}
	}
	r.Groups = r.count(first)
	return r
}

// unsteady returns the cases with different outcomes in the runs, and these outcomes.
func unsteady(m Measurement, first map[gotest.Key]gotest.Outcome) map[gotest.Key]string {
	passed := map[gotest.Key]int{}
	differs := map[gotest.Key]bool{}
	for _, run := range m.Untouched {
		for key, outcome := range outcomesOf(run, m.Module, m.Own) {
			if outcome == gotest.Passed {
				passed[key]++
			}
			differs[key] = differs[key] || outcome != first[key]
		}
	}
	for key := range first {
		for _, run := range m.Untouched[1:] {
			full := gotest.Key{Package: strings.TrimSuffix(m.Module+"/"+key.Package, "/"), Test: key.Test}
			differs[key] = differs[key] || run.Outcome(full) == gotest.Missing
		}
	}
	reasons := map[gotest.Key]string{}
	for key := range differs {
		if differs[key] {
			reasons[key] = fmt.Sprintf("passed in %d of %d runs", passed[key], len(m.Untouched))
		}
	}
	for full, passes := range m.Again {
		key := short(full, m.Module)
		if passes && !m.own(full) {
			reasons[key] = fmt.Sprintf("passed in %d of %d runs, and when it was repeated", passed[key], len(m.Untouched))
		}
	}
	return reasons
}

func compareKeys(a, b gotest.Key) int {
	return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.Test, b.Test))
}
