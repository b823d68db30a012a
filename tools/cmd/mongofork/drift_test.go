package main

import (
	"bytes"
	"maps"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"mongofork/tools/adopt"
	"mongofork/tools/command"
	"mongofork/tools/fork"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/forktest"
	"mongofork/tools/fork/syntax"
)

// A release that does not exist is served from a folder, as upstream's next one would be: whatever changes beneath what the fork calls, or
// moves away, is reported, and that nobody has read it. It takes more than ten seconds: the driver and all that it imports are
// type-checked.
func TestDriftFromARelease(t *testing.T) {
	if testing.Short() {
		t.Skip("type-checks the driver")
	}
	root := filepath.Join("..", "..", "..")
	bases, err := (&fork.Project{Root: root}).Bases()
	require.NoError(t, err)
	newest := bases[len(bases)-1]
	upstream := forktest.Released(t, newest)
	goEnv, err := command.Output(t.Context(), t.TempDir(), nil, "go", "env", "GOMODCACHE", "GOPROXY")
	require.NoError(t, err)
	cache, proxies, _ := strings.Cut(strings.TrimSpace(string(goEnv)), "\n")
	served := t.TempDir()
	for name, value := range map[string]string{
		"GOPROXY": "file://" + filepath.ToSlash(served) + ",file://" +
			filepath.ToSlash(filepath.Join(cache, "cache", "download")) + "," + proxies,
		"GONOSUMDB": adopt.Driver, "GOMODCACHE": filepath.Join(t.TempDir(), "mod"), "GOFLAGS": "-modcacherw",
	} {
		t.Setenv(name, value)
	}
	const from, to, version = "x/mongo/driver", "internal/driver", "v2.901.0"
	tree := maps.Clone(upstream.Tree)
	for key, name := range map[string]string{from: "Operation.roundTrip", "mongo": "Collection.insert"} {
		d := upstream.Lookup(syntax.Key{Package: key, Name: name})[0]
		head := d.File.Text(d.Func.Pos(), d.Func.Body.Lbrace+1)
		tree[d.File.Path] = bytes.Replace(tree[d.File.Path], head, append(bytes.Clone(head), "\n_ = 1\n"...), 1)
	}
	for _, name := range tree.Paths() {
		data := bytes.ReplaceAll(tree[name], []byte(`"`+adopt.Driver+"/"+from), []byte(`"`+adopt.Driver+"/"+to))
		delete(tree, name)
		tree[strings.Replace(name, from+"/", to+"/", 1)] = data
	}
	serve(t, served, module.Version{Path: adopt.Driver, Version: version}, tree)
	var out, errs strings.Builder
	require.Equal(t, command.ExitFailed, run(t.Context(), []string{"-C", root, "--base", newest, "drift", version}, &out, &errs))
	require.Regexp(t, `^mongofork: \d+ of \d{4,} need review`, errs.String())
	require.Contains(t, errs.String(), version+" is newer than the newest base, "+newest+": read it, and make it a base")
	report := out.String()
	require.Regexp(t, `(?m)^moved     \d+ of x/mongo/driver to internal/driver$`, report)
	require.Regexp(t, `(?m)^moved     \d+ of x/mongo/driver/topology to internal/driver/topology$`, report)
	require.Regexp(t, `moved     x/mongo/driver Operation.Execute
          replace of x/mongo/driver/.*\.go:\d+
          was in x/mongo/driver/operation.go:\d+
          is in internal/driver/operation.go:\d+`, report)
	require.Contains(t, report, "moved     x/mongo/driver Operation.roundTrip\n          was in ", "it has changed")
	require.NotContains(t, report, "moved     x/mongo/driver Operation.retryable", "it is as it was")
	require.Contains(t, report, "changed   mongo Collection.insert\n          was in ")
	require.Equal(t, 1, strings.Count(report, "\nchanged "))
	require.NotContains(t, report, "\ngone ")
}

// serve puts a version of a module into a folder that serves as a GOPROXY.
func serve(t *testing.T, dir string, v module.Version, tree filetree.Tree) {
	t.Helper()
	content := t.TempDir()
	require.NoError(t, tree.Write(content))
	var archive bytes.Buffer
	require.NoError(t, zip.CreateFromDir(&archive, v, content))
	at := path.Join(v.Path, "@v", v.Version)
	require.NoError(t, filetree.Tree{
		path.Join(v.Path, "@v", "list"): []byte(v.Version + "\n"),
		at + ".info":                    []byte(`{"Version":"` + v.Version + `"}`),
		at + ".mod":                     tree["go.mod"],
		at + ".zip":                     archive.Bytes(),
	}.Write(dir))
}
