package planted

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/strict"
)

// TestTableIsOfOurs: what is replaced is the overlay's, not upstream's, and there is enough of it.
func TestTableIsOfOurs(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	var defects []Defect
	require.NoError(t, strict.Read(filepath.Join(root, Table), &defects))
	assert.GreaterOrEqual(t, len(defects), 30)
	for _, d := range defects {
		assert.NotEqual(t, d.Text, d.Instead, d.Name)
		ours := false
		for _, layer := range []string{"", "layers/*/*"} {
			for _, pattern := range []string{filepath.Join(d.In, "*.go"), "edits.yaml"} {
				files, err := filepath.Glob(filepath.Join(root, layer, pattern))
				require.NoError(t, err)
				for _, file := range files {
					data, err := os.ReadFile(file)
					require.NoError(t, err)
					ours = ours || strings.Contains(string(data), d.Text)
				}
			}
		}
		assert.True(t, ours, "%s: the entry %q is out of date", Table, d.Name)
	}
}

// program has a function of each kind. Its texts are those of the defects.
const program = `package main

import "fmt"

type T struct{ n int }

func (t *T) double(by ...int) (n int) { return t.n * 2 * len(by) }

func (T) text(a, b string) string {
	const text = "one"
	return a + text + b
}

func show(t *T) {
	fmt.Println(t.double(1, 2), t.text("<", ">"))
}

func main() { show(&T{3}) }

// twice
`

// newTree returns a root with the program in the folder fork.
func newTree(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	require.NoError(t, filetree.Tree{"fork/go.mod": []byte("module fork\n\ngo 1.19\n"), "fork/p/a.go": []byte(program),
		"fork/p/a_test.go": []byte("package main\n\nvar _ = \"one\"\n")}.Write(root))
	return root
}

func TestPlant(t *testing.T) {
	t.Parallel()
	tree := filepath.Join(newTree(t), "fork")
	require.NoError(t, Plant(tree, []Defect{
		{"a", "p", "t.n * 2", "t.n * 3", "", false}, {"b", "p", `"one"`, `"two"`, "", false}, {"c", "p", `"<"`, `"("`, "", false},
	}))
	for defect, want := range map[string]string{"": "12 <one>", "a": "18 <one>", "b": "12 <two>", "c": "12 (one>"} {
		run := exec.CommandContext(t.Context(), "go", "run", "./p")
		run.Dir, run.Env = tree, append(os.Environ(), Switch+"="+defect, "GOWORK=off")
		output, err := run.CombinedOutput()
		require.NoError(t, err, string(output))
		assert.Equal(t, want+"\n", string(output), "with the defect %q", defect)
	}
	err := Plant(filepath.Join(newTree(t), "fork"), []Defect{
		{"a", "p", "t.n * 2", "1", "", false}, {"b", "p", "t", "2", "", false}, {"c", "p", "twice", "4", "", false},
	})
	assert.EqualError(t, err, `etc/planted.yaml: the entry "b" is out of date: the functions of p contain its text 14 times instead of once; mend it there
etc/planted.yaml: the entry "c" is out of date: the functions of p contain its text 0 times instead of once; mend it there`)
}

func TestRun(t *testing.T) {
	t.Parallel()
	defects := []Defect{
		{"compared", "p", "t.n * 2", "1", "", false}, {"tested", "p", "t.n * 2", "2", "", false}, {"compared tested", "p", `"<"`, "3", "", false},
		{"hidden", "p", `">"`, "4", "why", false},
	}
	var broken error
	finds := func(what, found string) Judge {
		return func(_ context.Context, _, defect string) (string, error) {
			if strings.Contains(defect, what) {
				return found, nil
			}
			return "", nil
		}
	}
	judges := map[string]Judge{"compare": finds("compared", "seed 7"), "tests": finds("tested", "TestA")}
	root := newTree(t)
	var out strings.Builder
	run := func(only ...string) (bool, error) {
		return Run(t.Context(), root, "fork", defects, only, func(context.Context, string) error { return broken }, judges, &out)
	}
	enough, err := run()
	require.NoError(t, err)
	assert.False(t, enough, "3 of 4 are not 28 of 30")
	var found []string
	for line := range strings.Lines(out.String()) {
		line, _, _ = strings.Cut(strings.Join(strings.Fields(line), " "), " (")
		found = append(found, line)
	}
	assert.Equal(t, []string{
		"compared compare: seed 7", "tested tests: TestA", "compared tested compare: seed 7; tests: TestA",
		"hidden nothing; not for compare: why",
		"4 defects: 2 found by compare, 2 found by tests, 1 by none; 28 of 30 are enough",
	}, found)
	assert.NoDirExists(t, filepath.Join(root, "build", "planted"))

	enough, err = run("compared", "tested")
	require.NoError(t, err)
	assert.True(t, enough)

	_, err = run("tested", "no-such")
	assert.EqualError(t, err, "1 of these are not among the names that etc/planted.yaml lists: tested no-such")

	judges["tests"] = finds("", "TestA")
	_, err = run()
	assert.EqualError(t, err, "without a defect there is a finding: map[tests:TestA]")

	judges["tests"] = func(context.Context, string, string) (string, error) { return "", context.Canceled }
	_, err = run()
	assert.EqualError(t, err, "without a defect: context canceled")

	broken = errors.New("does not compile")
	_, err = run()
	assert.ErrorContains(t, err, "does not compile", "no test has found it")
}
