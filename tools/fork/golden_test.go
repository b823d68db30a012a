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
	forEachArchive(t, "refused", func(t *testing.T, repository filetree.Tree) map[string]string {
		p := newProject(t, repository)
		acceptMatched(t, p)
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
