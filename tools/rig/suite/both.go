package suite

import (
	"context"
	"errors"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"mongofork/tools/gotest"
)

// Names of the pinned servers in SERVER.
const (
	realServer = "mongod"
	newServer  = "secantus"
)

// tooOld matches the reason of a case that asks for a newer server.
var tooOld = regexp.MustCompile(`is lower than min`)

// answers is a run of tests on the pinned servers: on real members, and on the other server the tests that need a newer one.
type answers struct {
	// merged has the result of each case on the server that counts for it.
	merged *gotest.Result
	// servers are the names of the servers used, and results the results that count on each.
	servers []string
	results []*gotest.Result
}

// onBoth runs the tests in a tree on the pinned servers, each newly started.
func (r *Rig) onBoth(ctx context.Context, label, tree string, command gotest.Command, project string) (*answers, error) {
	a := &answers{}
	first, err := r.onPinned(ctx, a, realServer, label, tree, command, project)
	if err != nil {
		return nil, err
	}
	a.merged = first
	wanting := askForNewer(first)
	if len(wanting) == 0 {
		return a, nil
	}
	command.Run = rerunPattern(wanting)
	second, err := r.onPinned(ctx, a, newServer, label, tree, command, project)
	if err != nil {
		return nil, err
	}
	second = only(second, wanting)
	a.results[1] = second
	a.results[0] = without(first, wanting)
	a.merged = gotest.Merge(a.results...)
	return a, nil
}

// onPinned runs the tests on one of the pinned servers.
func (r *Rig) onPinned(ctx context.Context, a *answers, name, label, tree string, command gotest.Command, project string) (_ *gotest.Result, err error) {
	server, err := r.server(ctx, name, func(ctx context.Context) (*Server, error) { return r.OpenPinned(ctx, name) })
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	env := []string{"PROJECT_DIRECTORY=" + project, "MONGODB_URI=" + server.URI}
	result, err := r.runArm(ctx, label+" on "+server.Name, tree, comparison{command: command}, env)
	if err != nil {
		return nil, err
	}
	a.servers = append(a.servers, server.Name)
	a.results = append(a.results, result)
	return result, nil
}

// askForNewer returns the cases that were skipped because they need a newer server.
func askForNewer(result *gotest.Result) map[gotest.Key]bool {
	found := map[gotest.Key]bool{}
	for _, c := range result.Cases() {
		if c.Outcome == gotest.Skipped && tooOld.MatchString(c.Reason()) {
			found[c.Key] = true
		}
	}
	return found
}

// isOf reports whether a test is one of the keys or a subtest of one.
func isOf(key gotest.Key, keys map[gotest.Key]bool) bool {
	for test := key.Test; test != ""; test = parentOf(test) {
		if keys[gotest.Key{Package: key.Package, Test: test}] {
			return true
		}
	}
	return false
}

// only returns the cases of a result that are among the keys.
func only(result *gotest.Result, keys map[gotest.Key]bool) *gotest.Result {
	return filter(result, func(key gotest.Key) bool { return isOf(key, keys) })
}

// without returns the other cases.
func without(result *gotest.Result, keys map[gotest.Key]bool) *gotest.Result {
	return filter(result, func(key gotest.Key) bool { return !isOf(key, keys) })
}

func filter(result *gotest.Result, keep func(gotest.Key) bool) *gotest.Result {
	var kept []gotest.Case
	for _, c := range result.Cases() {
		if keep(c.Key) {
			kept = append(kept, c)
		}
	}
	return gotest.NewResult(kept...)
}

// rerunPattern returns the argument of -run for the cases' test files or test functions.
func rerunPattern(cases map[gotest.Key]bool) string {
	functions := map[string]bool{}
	files := map[string]map[string]bool{} // by folder
	for key := range cases {
		file, _, isFile := strings.Cut(key.Test, ".json")
		if !isFile {
			functions[gotest.TopLevel(key.Test)] = true
			continue
		}
		folder, name := path.Split(file)
		if files[folder] == nil {
			files[folder] = map[string]bool{}
		}
		files[folder][regexp.QuoteMeta(name)] = true
	}
	var patterns []string
	if len(functions) > 0 {
		patterns = append(patterns, gotest.AnyOf(slices.Sorted(maps.Keys(functions))))
	}
	for _, folder := range slices.Sorted(maps.Keys(files)) {
		names := strings.Join(slices.Sorted(maps.Keys(files[folder])), "|")
		patterns = append(patterns, gotest.Pattern(strings.TrimSuffix(folder, "/"))+`/^(`+names+`)\.json$`)
	}
	return strings.Join(patterns, "|")
}
