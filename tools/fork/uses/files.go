package uses

import (
	"bytes"
	"context"
	"go/build"
	"io"
	"os"
	"path"
	"strings"

	"mongofork/tools/command"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/syntax"
)

// compiled returns the Go files that are compiled for Linux without cgo, in order, but for tests. It is the same on every machine.
func compiled(tree filetree.Tree) []string {
	system := build.Default
	system.GOOS, system.GOARCH, system.CgoEnabled, system.BuildTags = "linux", "amd64", false, nil
	system.JoinPath = path.Join
	system.OpenFile = func(name string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(tree[name])), nil }
	var names []string
	for _, name := range tree.Paths() {
		if !syntax.IsGoFile(name) || strings.HasSuffix(name, "_test.go") {
			continue
		}
		if ok, err := system.MatchFile(path.Dir(name), path.Base(name)); ok && err == nil {
			names = append(names, name)
		}
	}
	return names
}

// isLibrary reports whether a package belongs to the standard library: other paths begin with a host's name.
func isLibrary(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// exported returns, for packages of the standard library and those that they import, the files that say what they export.
func exported(ctx context.Context, run command.RunFunc, packages []string) (map[string]string, error) {
	env := []string{"GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS="}
	args := append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}, packages...)
	out, err := run(ctx, os.TempDir(), env, "go", args...)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		files[path] = file
	}
	return files, nil
}
