package fork

import (
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
	"mongofork/tools/fork/problem"
)

// Each archive in testdata/refused is an overlay, and under "want" the whole
// report that refuses it.
func TestRefused(t *testing.T) {
	forEachArchive(t, "refused", func(t *testing.T, archive *txtar.Archive) map[string]string {
		p := newProject(t, repositoryIn(archive))
		acceptMatched(t, p)
		require.Error(t, build(t, p))
		_, _, err := p.Assemble(t.Context())
		require.ErrorAs(t, err, &problem.List{})
		require.NoDirExists(t, p.output().Dir, "a refused build must not write")
		return map[string]string{"want": err.Error() + "\n"}
	})
}

// Each archive in testdata/built is an overlay, and the files that it changes (under "built/").
func TestBuilt(t *testing.T) {
	forEachArchive(t, "built", func(t *testing.T, archive *txtar.Archive) map[string]string {
		p := builtProject(t, repositoryIn(archive))
		plan, a, err := p.Assemble(t.Context())
		require.NoError(t, err)
		results := map[string]string{}
		for _, path := range filetree.Changed(assemble.Pristine(plan.Module), a) {
			results["built/"+path] = string(a[path])
		}
		return results
	})
}

// forEachArchive runs a test on each archive of a folder and compares the
// results with the archive's files of those names, both ways.
func forEachArchive(t *testing.T, folder string, run func(*testing.T, *txtar.Archive) map[string]string) {
	names, err := filepath.Glob(filepath.Join("testdata", folder, "*.txtar"))
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(name)
			require.NoError(t, err)
			got := run(t, archive)
			if *update {
				require.NoError(t, os.WriteFile(name, txtar.Format(withResults(archive, got)), 0o644))
				return
			}
			for _, f := range archive.Files {
				if isResult(f.Name) {
					require.Contains(t, got, f.Name)
					require.Equal(t, string(f.Data), got[f.Name])
					delete(got, f.Name)
				}
			}
			require.Empty(t, got, "results that the archive does not expect")
		})
	}
}

func isResult(name string) bool {
	return name == "want" || strings.HasPrefix(name, "built/")
}

// repositoryIn returns the repository's files in an archive.
func repositoryIn(a *txtar.Archive) filetree.Tree {
	files := filetree.Tree{}
	for _, f := range a.Files {
		if !isResult(f.Name) {
			files[f.Name] = f.Data
		}
	}
	return files
}

// withResults replaces the results in an archive.
func withResults(a *txtar.Archive, results map[string]string) *txtar.Archive {
	out := &txtar.Archive{Comment: a.Comment}
	for _, f := range a.Files {
		if !isResult(f.Name) {
			out.Files = append(out.Files, f)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(results)) {
		out.Files = append(out.Files, txtar.File{Name: name, Data: []byte(results[name])})
	}
	return out
}
