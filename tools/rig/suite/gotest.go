package suite

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"

	"mongofork/tools/process"
)

// The outcomes of a test. missing is that of one that was never seen.
const missing, passed, failed, skipped = "", "pass", "fail", "skip"

// key names one test. Package is the argument of go that names the package in its module, such as ./mongo. Test is the full name of a test
// or subtest, or empty for anything outside the package's tests, such as a compile error.
type key struct{ Package, Test string }

// UnmarshalText reads a key, without "./", as String writes it.
func (k *key) UnmarshalText(text []byte) error {
	folder, test, _ := strings.Cut(string(text), " ")
	*k = key{"./" + folder, test}
	return nil
}

// String returns the key as "folder Test/subtest".
func (k key) String() string {
	return strings.TrimPrefix(strings.TrimSuffix(k.Package+" "+k.Test, " "), "./")
}

func (k key) function() key {
	function, _, _ := strings.Cut(k.Test, "/")
	return key{k.Package, function}
}

// testCase is one test with its outcome.
type testCase struct {
	key
	outcome, output string
	unfinished      bool // it failed because its process ended, for any reason, before it had a result
}

// message matches what testing.T.Log writes: an indented file name, the line number and the text, of several lines.
var message = regexp.MustCompile(`(?m)^\s*([^\s:]+\.go:\d+): (.*(?:\n {8,}[^\s-].*)*)$`)

// said returns what the test logged last, and where. That is why it was skipped, because Skip logs and ends the test.
func (c testCase) said() (where, what string) {
	for _, said := range message.FindAllStringSubmatch(c.output, -1) {
		where, what = said[1], strings.Join(strings.Fields(said[2]), " ")
	}
	return where, cmp.Or(what, "no reason given")
}

// cases holds every test and package that one run of go test reported.
type cases map[key]testCase

// add adds cases. Of several cases with the same key, a failure counts, or else the last one.
func (r cases) add(others cases) {
	for k, c := range others {
		if r[k].outcome != failed {
			r[k] = c
		}
	}
}

// counted returns the cases that count, sorted: tests without subtests; tests that failed although none of their subtests did; and
// packages that failed although none of their tests did.
func (r cases) counted() []testCase {
	isParent, blamed := map[key]bool{}, map[key]bool{}
	for k, c := range r {
		for k.Test != "" {
			k.Test = k.Test[:max(strings.LastIndexByte(k.Test, '/'), 0)] // its parent's, or that of the package
			isParent[k] = true
			blamed[k] = blamed[k] || c.outcome == failed
		}
	}
	sorted := slices.SortedFunc(maps.Values(r), func(a, b testCase) int { return strings.Compare(a.String(), b.String()) })
	return slices.DeleteFunc(sorted, func(c testCase) bool {
		leaf := c.Test != "" && !isParent[c.key]
		return !leaf && (c.outcome != failed || blamed[c.key])
	})
}

func (r cases) count(outcome string) int {
	return len(slices.DeleteFunc(r.counted(), func(c testCase) bool { return c.outcome != outcome }))
}

// event is one line of the stream; see "go doc test2json" and, for the build events, "go help buildjson".
type event struct {
	Action, Package, ImportPath, Test, Output, FailedBuild string
}

// parse reads a stream of events. A test without a result at the end of the stream counts as failed, because its process died. What is
// no event was written by a child process of a test or by the go command.
func parse(stream []byte) (r cases, stray string) {
	r = cases{}
	outputs, builds := map[key]*bytes.Buffer{}, map[string]string{}
	for line := range bytes.Lines(stream) {
		var e event
		if json.Unmarshal(line, &e) != nil || e.Action == "" {
			stray += string(line)
			continue
		}
		if e.Package == "" {
			builds[e.ImportPath] += e.Output
			continue
		}
		k := key{"./" + path.Clean("."+strings.TrimPrefix(e.Package, Module)), e.Test}
		if outputs[k] == nil {
			r[k], outputs[k] = testCase{key: k}, new(bytes.Buffer)
		}
		outputs[k].WriteString(e.Output + builds[e.FailedBuild])
		if slices.Contains([]string{passed, failed, skipped}, e.Action) {
			r.add(cases{k: {key: k, outcome: e.Action}})
		}
	}
	for k, c := range r {
		if c.output = outputs[k].String(); c.outcome == missing {
			c.outcome, c.output, c.unfinished = failed, c.output+"[the test process ended before this had a result]", true
		}
		r[k] = c
	}
	return r, stray
}

// command is one run of "go test -json".
type command struct {
	// dir is the folder of the module, env the whole environment.
	dir   string
	env   []string
	flags []string // further flags of go test, such as -race
	run   string   // the argument of -run. Empty runs every test.
	// through, unless empty, is a program with its first arguments that runs the go command, and passes its output through.
	through  []string
	packages []string // the packages to test
}

// goTest runs a command. It is an error if no test could be run, but not if tests fail. "make check" vets. Upstream's tests take three
// minutes on an idle machine, and ten times that on a busy one. With -trimpath both trees share compiled files.
func goTest(ctx context.Context, c command) (cases, error) {
	words := slices.Concat(c.through, []string{"go", "test", "-json", "-vet=off", "-timeout=1h", "-trimpath", "-run=" + c.run},
		c.flags, c.packages)
	var stdout, stderr bytes.Buffer
	err := process.Run(ctx, c.dir, c.env, &stdout, &stderr, words[0], words[1:]...)
	err = errors.Join(err, ctx.Err())
	result, stray := parse(stdout.Bytes())
	var exit *exec.ExitError
	if err == nil || ctx.Err() == nil && errors.As(err, &exit) && result.count(failed) > 0 {
		return result, nil
	}
	// No test failed, so the go command itself did.
	return nil, fmt.Errorf("go test: %w: %s", err, strings.TrimSpace(stderr.String()+"\n"+stray))
}

// anyOf returns the argument of -run that selects exactly the named test functions.
func anyOf(functions []string) string { return "^(" + strings.Join(functions, "|") + ")$" }

// fresh is the flag that takes no result from Go's cache of tests.
const fresh = "-count=1"

// only returns the command for some tests alone, fresh.
func (c command) only(tests []testCase) command {
	var patterns, packages []string
	for _, test := range tests {
		patterns = append(patterns, "^"+strings.ReplaceAll(regexp.QuoteMeta(test.Test), "/", "$/^")+"$")
		packages = append(packages, test.Package)
	}
	slices.Sort(packages)
	c.flags, c.run, c.packages = append(slices.Clip(c.flags), fresh), strings.Join(patterns, "|"), slices.Compact(packages)
	return c
}
