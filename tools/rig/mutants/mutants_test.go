package mutants

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/forktest"
	"mongofork/tools/strict"
)

// TestTableIsOfOurs: what is replaced is the overlay's, not upstream's.
func TestTableIsOfOurs(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	var defects []Mutant
	require.NoError(t, strict.Read(filepath.Join(root, Table), &defects))
	for _, d := range defects {
		assert.NotEqual(t, d.Text, d.Instead, d.Name)
		ours := false
		for _, pattern := range []string{d.In + "/*.go", "layers/*/*/" + d.In + "/*.go", "layers/*/*/edits.yaml"} {
			files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
			require.NoError(t, err)
			for _, file := range files {
				data, err := os.ReadFile(file)
				require.NoError(t, err)
				ours = ours || strings.Contains(string(data), d.Text)
			}
		}
		assert.True(t, ours, "%s: the entry %q is out of date", Table, d.Name)
	}
}

// TestMutants: only what upstream does not have is changed; what a test asserts is noticed, and what it only runs survives.
func TestMutants(t *testing.T) {
	root := t.TempDir()
	tree, pristine := filepath.Join(root, "fork"), filepath.Join(root, "pristine")
	require.NoError(t, forktest.Archive(t, "trees.txtar").Write(root))
	chosen, err := Choose(tree, pristine, 1, 100)
	require.NoError(t, err)
	again, err := Choose(tree, pristine, 1, 100)
	require.NoError(t, err)
	assert.Equal(t, chosen, again, "with the same seed")
	for _, m := range chosen {
		assert.True(t, m.line > 15 || m.line == 12, "of upstream: %v", m)
	}
	named, err := Named(tree, []Mutant{
		{Name: "nothing is added", In: "p", Text: "c.n += n", Instead: "_ = n"}, {Name: "broken", In: "p", Text: "n > limit", Instead: `n > ""`},
		{Name: "silent", In: "p", Text: "c.n += n", Instead: "os.Exit(1)"},
	})
	require.NoError(t, err)
	_, err = Named(tree, []Mutant{{Name: "twice", In: "p", Text: "n"}})
	assert.ErrorContains(t, err, `etc/planted.yaml: the entry "twice" is out of date`)

	copied := filepath.Join(root, "copied")
	planted, err := Plant(t.Context(), tree, copied, append(chosen, named...))
	require.NoError(t, err)
	assert.NotContains(t, planted, named[1], "it does not compile")
	all := Tests{Tree: copied, ByFolder: map[string][]string{"p": {"TestAdd", "TestReached", "TestFails"}}}
	var out strings.Builder
	require.NoError(t, all.Learn(t.Context(), &out))
	assert.Equal(t, "fails alone, without a mutant: p TestFails\n", out.String())
	share, err := Run(t.Context(), planted, []Judge{{"tests", all.Look}}, true, &out)
	require.NoError(t, err)
	assert.Less(t, share, 1.0)
	for _, m := range planted {
		said := map[bool]string{true: "tests: TestAdd", false: "survived"}[m.line > 15 && m.line < 23]
		if m.Name == "silent" { // as is what the system kills for its memory
			said = "tests: exit status 1"
		}
		assert.Contains(t, out.String(), said+": "+m.String()+"\n")
	}
}
