package main

import (
	"bytes"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"mongofork/tools/command"
	"mongofork/tools/fork"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/forktest"
	"mongofork/tools/fork/syntax"
)

// Releases that do not exist are served from a folder, as upstream's next ones would be: whatever else changes beneath what the fork calls,
// or moves away, is reported, and that nobody has read them.
func TestDriftFromReleases(t *testing.T) {
	if testing.Short() {
		t.Skip("type-checks the driver four times")
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
		"GONOSUMDB": modulePath, "GOMODCACHE": filepath.Join(t.TempDir(), "mod"), "GOFLAGS": "-modcacherw",
	} {
		t.Setenv(name, value)
	}
	drift := func(version string, edit func(filetree.Tree)) string {
		tree := maps.Clone(upstream.Tree)
		edit(tree)
		serve(t, served, module.Version{Path: modulePath, Version: version}, tree)
		var out, errs strings.Builder
		require.Equal(t, command.ExitFailed, run(t.Context(), []string{"-C", root, "--base", newest, "drift", version}, &out,
			&errs), errs.String())
		require.Contains(t, errs.String(), version+" is newer than the newest base, "+newest+": read it, and make it a base")
		return out.String() + errs.String()
	}

	other := drift("v2.901.0", func(tree filetree.Tree) {
		for _, name := range []string{"Operation.retryable", "Operation.roundTrip", "Operation.createWireMessage"} {
			d := upstream.Lookup(syntax.Key{Package: "x/mongo/driver", Name: name})[0]
			head := d.File.Text(d.Func.Pos(), d.Func.Body.Lbrace+1)
			tree[d.File.Path] = bytes.Replace(tree[d.File.Path], head, append(bytes.Clone(head), "\n_ = 1\n"...), 1)
		}
	})
	require.Regexp(t, `(?m)^mongofork: 3 of \d{3,} need review`, other)
	for _, name := range []string{"retryable", "roundTrip", "createWireMessage"} {
		require.Contains(t, other, "changed   x/mongo/driver Operation."+name+"\n          used by x/mongo/driver ")
	}

	const from, to = "x/mongo/driver", "internal/driver"
	moved := drift("v2.902.0", func(tree filetree.Tree) {
		for _, name := range tree.Paths() {
			data := bytes.ReplaceAll(tree[name], []byte(`"`+modulePath+"/"+from), []byte(`"`+modulePath+"/"+to))
			delete(tree, name)
			tree[strings.Replace(name, from+"/", to+"/", 1)] = data
		}
	})
	require.Regexp(t, `(?m)^moved     \d+ of x/mongo/driver to internal/driver$`, moved)
	require.Regexp(t, `(?m)^moved     \d+ of x/mongo/driver/topology to internal/driver/topology$`, moved)
	require.Regexp(t, `moved     x/mongo/driver Operation.Execute
          replace of x/mongo/driver/.*\.go:\d+
          was in x/mongo/driver/operation.go:\d+
          is in internal/driver/operation.go:\d+`, moved)
	require.NotContains(t, moved, "\ngone ")
	require.NotContains(t, moved, "\nchanged ")
}

// serve puts a version of a module into a folder that serves as a GOPROXY.
func serve(t *testing.T, dir string, v module.Version, tree filetree.Tree) {
	t.Helper()
	content := t.TempDir()
	require.NoError(t, tree.Write(content))
	var archive bytes.Buffer
	require.NoError(t, zip.CreateFromDir(&archive, v, content))
	at := path.Join(v.Path, "@v", v.Version)
	list, err := os.ReadFile(filepath.Join(dir, v.Path, "@v", "list"))
	require.True(t, err == nil || os.IsNotExist(err))
	require.NoError(t, filetree.Tree{
		path.Join(v.Path, "@v", "list"): append(list, v.Version+"\n"...),
		at + ".info":                    []byte(`{"Version":"` + v.Version + `"}`),
		at + ".mod":                     tree["go.mod"],
		at + ".zip":                     archive.Bytes(),
	}.Write(dir))
}
