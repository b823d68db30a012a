package fork

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/forktest"
	"mongofork/tools/fork/problem"
)

// Each archive in testdata/refused is an overlay, and under "want" the whole report that refuses it.
func TestRefused(t *testing.T) {
	forEachArchive(t, "refused", func(t *testing.T, repository filetree.Tree) map[string]string {
		p := newProject(t, repository)
		acceptAnyway(t, p)
		err := build(t, p)
		require.ErrorAs(t, err, &problem.List{})
		require.NoDirExists(t, p.Folder(p.Base).Dir, "a refused build must not write")
		return map[string]string{"want": err.Error() + "\n"}
	})
}

// Each archive in testdata/built is an overlay, and the files that it changes (under "built/").
func TestBuilt(t *testing.T) {
	forEachArchive(t, "built", func(t *testing.T, repository filetree.Tree) map[string]string {
		p := builtProject(t, repository)
		plan, a, err := p.Assemble(t.Context())
		require.NoError(t, err)
		results := map[string]string{}
		for _, path := range filetree.Changed(assemble.Pristine(plan.Module), a) {
			results["built/"+path] = string(a[path])
		}
		return results
	})
}

// forEachArchive runs a test on each archive of a folder, and compares the archive with its results at the end.
func forEachArchive(t *testing.T, folder string, run func(*testing.T, filetree.Tree) map[string]string) {
	names, err := filepath.Glob(filepath.Join("testdata", folder, "*.txtar"))
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(name)
			require.NoError(t, err)
			archive, repository := txtar.Parse(data), filetree.Tree{}
			archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool {
				return f.Name == "want" || strings.HasPrefix(f.Name, "built/")
			})
			for _, f := range archive.Files {
				repository[f.Name] = f.Data
			}
			results := run(t, repository)
			for _, result := range slices.Sorted(maps.Keys(results)) {
				archive.Files = append(archive.Files, txtar.File{Name: result, Data: []byte(results[result])})
			}
			if *update {
				require.NoError(t, os.WriteFile(name, txtar.Format(archive), 0o644))
				return
			}
			require.Equal(t, string(data), string(txtar.Format(archive)))
		})
	}
}

// The lock and the module have to agree, and only accept writes a lock.
func TestLock(t *testing.T) {
	t.Parallel()
	p := builtProject(t, overlayOf("//fork:remove taken it lies\n"))
	lock := p.read(t, p.LockFile())
	require.Regexp(t, "^example.com/driver/v2 v2.0.0 h1:.*=\n$", lock)
	for _, wrong := range []string{"", strings.Replace(lock, "v2.0.0", "v2.1.0", 1), strings.Replace(lock, "h1:", "h1:A", 1)} {
		p.put(t, p.LockFile(), wrong)
		_, accepted := p.Accept(t.Context())
		for _, err := range []error{build(t, p), accepted} {
			require.ErrorAs(t, err, &problem.List{})
			require.Contains(t, err.Error(), "etc/bases/v2.0.0/fork.lock: it has \"")
			require.Contains(t, err.Error(), "but the module cache has "+lock[:len(lock)-1])
		}
		require.NoDirExists(t, p.Folder(p.Base).Dir)
	}
	require.NoError(t, os.Remove(p.file(p.LockFile())))
	_, err := p.Accept(t.Context())
	require.NoError(t, err)
	require.Equal(t, lock, p.read(t, p.LockFile()))
	require.NoError(t, build(t, p))
}

const repositoryRoot = "../.."

var update = flag.Bool("update", false, "write the expected results in testdata anew; review them afterwards")

// newProject makes a repository with the given files and an overlay of the folders pool and conn.
func newProject(t testing.TB, files filetree.Tree) *Project {
	t.Helper()
	return &Project{Root: forktest.Root(t, files), Module: forktest.Module, Base: forktest.Base, Source: forktest.Source(forktest.Tree())}
}

// acceptAnyway writes the lock of a base that the overlay does not fit.
func acceptAnyway(t testing.TB, p *Project) {
	t.Helper()
	_, _, lock, _ := p.match(t.Context())
	p.put(t, p.LockFile(), lock)
}

func builtProject(t testing.TB, files filetree.Tree) *Project {
	t.Helper()
	p := newProject(t, files)
	_, err := p.Accept(t.Context())
	require.NoError(t, err)
	return p
}

func build(t testing.TB, p *Project) error {
	_, _, _, err := p.Build(t.Context())
	return err
}

func (p *Project) put(t testing.TB, name, text string) {
	t.Helper()
	require.NoError(t, filetree.Replace(filepath.Join(p.Root, filepath.FromSlash(name)), []byte(text)))
}

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

// A folder becomes what it is to be, unless that would lose edits, or it is somebody else's. What an interrupted run has left is completed.
func TestFolder(t *testing.T) {
	t.Parallel()
	o := Folder{Dir: filepath.Join(t.TempDir(), "out")}
	older := filetree.Tree{"a/one": []byte("1"), "a/in/two": []byte("2")}
	newer := filetree.Tree{"a/one": []byte("1"), "b/three": []byte("3")}
	requireFiles := func(want filetree.Tree) {
		got, err := filetree.Read(o.Dir)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for i, tree := range []filetree.Tree{older, older, newer} {
		changed, err := o.Write(tree)
		require.NoError(t, err)
		require.Equal(t, i != 1, changed)
		requireFiles(tree)
	}
	require.NoDirExists(t, filepath.Join(o.Dir, "a", "in"), "folders go with their last file")
	inTheWay := filepath.Join(o.Dir, "a", "in", "two")
	require.NoError(t, os.MkdirAll(inTheWay, 0o755))
	_, err := o.Write(older)
	require.ErrorContains(t, err, "two")
	require.NoError(t, os.Remove(inTheWay))
	_, err = o.Write(older)
	require.NoError(t, err)
	requireFiles(older)

	edited := filetree.Tree{"a/one": []byte("edited"), "a/in/two": []byte("2"), "notes": {}}
	require.NoError(t, edited.Write(o.Dir))
	_, err = o.Write(newer)
	require.ErrorContains(t, err, o.Dir+": the folder has edits that this build lacks, such as a/one")
	require.NoError(t, os.Remove(o.Dir+".manifest"))
	_, err = o.Write(newer)
	require.EqualError(t, err, o.Dir+": the folder was not made by mongofork: it has no manifest\n  fix: move it away")
	requireFiles(edited)
}

// A file of the overlay names the one to edit, and what is edited in the build is not written over.
func TestEditable(t *testing.T) {
	t.Parallel()
	p := builtProject(t, filetree.Tree{
		"pool/plain.go": []byte("package pool\n\nfunc plain() {}\n"),
		"pool/rest.go":  []byte("// Package pool is one.\npackage pool\n\nfunc rest() {}\n\n//fork:remove taken nobody needs it\n"),
	})
	require.NoError(t, build(t, p))
	for name, before := range map[string]string{"plain": "", "rest": "// Package pool is one.\n"} {
		built := "build/v2.0.0/pool/" + name + ".go"
		want := before + "package pool // made from pool/" + name + ".go: edit that file, then run \"make fork\"\n\nfunc " + name + "() {}\n"
		require.Equal(t, want, p.read(t, built))
		p.put(t, built, "package pool\n")
		require.ErrorContains(t, build(t, p), "the folder has edits that this build lacks")
		require.NoError(t, os.RemoveAll(p.Folder(p.Base).Dir))
		require.NoError(t, build(t, p))
	}
}
