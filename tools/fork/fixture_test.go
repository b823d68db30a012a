package fork

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/upstream"
)

var update = flag.Bool("update", false, "write the expected results in testdata anew; review them afterwards")

const (
	testModule = "example.com/driver/v2"
	testBase   = "v2.0.0"
)

// fakeSource is a Source of made-up modules: the files of each version.
type fakeSource map[string]filetree.Tree

func (s fakeSource) Module(_ context.Context, path, version string) (*upstream.Module, error) {
	tree, ok := s[version]
	if !ok {
		return nil, fmt.Errorf("no version %s of %s", version, path)
	}
	m := &upstream.Module{Path: path, Version: version, Tree: maps.Clone(tree)}
	var err error
	m.Sum, m.GoModSum, err = m.Sums()
	return m, err
}

func (s fakeSource) Versions(context.Context, string) ([]string, error) {
	return slices.Collect(maps.Keys(s)), nil
}

// readArchive reads a txtar file of testdata.
func readArchive(t testing.TB, name string) *txtar.Archive {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", filepath.FromSlash(name)))
	require.NoError(t, err)
	return archive
}

// driverVersions returns the versions of the module in testdata/upstream.txtar. What
// a later version does not have of its own it has from the base, but for the
// files of package pool.
func driverVersions(t testing.TB) fakeSource {
	t.Helper()
	source := fakeSource{testBase: {}, "v2.1.0": {}}
	for _, f := range readArchive(t, "upstream.txtar").Files {
		version, name, _ := strings.Cut(f.Name, "/")
		source[version][name] = f.Data
	}
	for name, data := range source[testBase] {
		if path.Dir(name) != "pool" {
			source["v2.1.0"][name] = data
		}
	}
	return source
}

// newProject makes a repository with the given files and an overlay of the
// folders pool and conn.
func newProject(t testing.TB, files filetree.Tree) *Project {
	t.Helper()
	root := t.TempDir()
	all := filetree.Tree{ConfigFile: []byte("# folders\npool\nconn # new\n"), "pool/.keep": nil, "conn/.keep": nil}
	maps.Copy(all, files)
	require.NoError(t, all.Write(root))
	p := &Project{Root: root, Base: testBase, Source: driverVersions(t)}
	if _, has := files[p.LockFile()]; !has {
		_, err := p.NewLock(t.Context(), NewLockOptions{Module: testModule})
		require.NoError(t, err)
	}
	return p
}

// acceptMatched locks whatever the overlay's directives did match, so that a
// test about another problem sees only that one.
func acceptMatched(t testing.TB, p *Project) {
	t.Helper()
	lock, err := p.ReadLock()
	require.NoError(t, err)
	plan, _, err := p.match(t.Context(), lock)
	if err != nil {
		require.ErrorAs(t, err, &problem.List{})
		return
	}
	require.NoError(t, lock.Accept(plan, nil, true))
	require.NoError(t, p.writeLock(lock))
}

// builtProject makes a repository and locks its overlay.
func builtProject(t testing.TB, files filetree.Tree) *Project {
	t.Helper()
	p := newProject(t, files)
	_, err := p.Accept(t.Context(), AcceptOptions{All: true})
	require.NoError(t, err)
	return p
}

// output returns a build folder of the project.
func (p *Project) output() Output {
	return Output{Dir: filepath.Join(p.Root, "build", p.Base), Label: "build/" + p.Base}
}

// build builds the project into its output.
func build(t testing.TB, p *Project, force bool) error {
	t.Helper()
	_, a, err := p.Assemble(t.Context())
	if err != nil {
		return err
	}
	_, err = p.output().Write(a.Tree, force)
	return err
}

// write puts a file into the repository.
func (p *Project) put(t testing.TB, name, text string) {
	t.Helper()
	require.NoError(t, filetree.Replace(filepath.Join(p.Root, filepath.FromSlash(name)), []byte(text)))
}

// read returns a file of the repository.
func (p *Project) read(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(p.Root, filepath.FromSlash(name)))
	require.NoError(t, err)
	return string(data)
}

// overlayOf makes the file set of a repository with one file pool/overlay.go.
func overlayOf(code string) filetree.Tree {
	return filetree.Tree{"pool/overlay.go": []byte("package pool\n\n" + code)}
}

// requireText compares texts and shows how they differ.
func requireText(t testing.TB, want, got string) {
	t.Helper()
	if d := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); d != "" {
		t.Fatalf("differs (-want +got):\n%s", d)
	}
}

// archiveFiles splits an archive into the repository's files and those under
// one of the given prefixes, without the prefix.
func archiveFiles(a *txtar.Archive, prefixes ...string) (repository filetree.Tree, prefixed map[string]filetree.Tree) {
	repository, prefixed = filetree.Tree{}, map[string]filetree.Tree{}
	for _, prefix := range prefixes {
		prefixed[prefix] = filetree.Tree{}
	}
file:
	for _, f := range a.Files {
		for _, prefix := range prefixes {
			if name, ok := strings.CutPrefix(f.Name, prefix); ok {
				prefixed[prefix][name] = f.Data
				continue file
			}
		}
		repository[f.Name] = f.Data
	}
	return repository, prefixed
}

// runCommand is a RunFunc for tests.
func runCommand(ctx context.Context, dir string, env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s %v: %w: %s", name, args, err, stderr.Bytes())
	}
	return out, err
}
