package planted

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTableIsOfOurs: what is replaced is the overlay's, not upstream's, and there is enough of it.
func TestTableIsOfOurs(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	defects, err := Read(filepath.Join(root, Table))
	require.NoError(t, err)
	assert.GreaterOrEqual(t, len(defects), 30)
	names := map[string]bool{}
	for _, d := range defects {
		assert.False(t, names[d.Name], "%s is there twice", d.Name)
		names[d.Name] = true
		assert.NotEqual(t, d.Text, d.Instead, d.Name)
		files, err := filepath.Glob(filepath.Join(root, d.In, "*.go"))
		require.NoError(t, err)
		var ours strings.Builder
		for _, file := range files {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			ours.Write(data)
		}
		assert.Contains(t, ours.String(), d.Text, "%s: the entry %q is out of date", Table, d.Name)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "table")
	_, err := Read(file)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(file, []byte("- name: a\n  file: b\n"), 0o600))
	_, err = Read(file)
	assert.ErrorContains(t, err, "field file not found")
}

// newJudges returns judges of a fork of one package. They find what the names of the texts in it say.
func newJudges(t *testing.T) *Judges {
	t.Helper()
	j := &Judges{Root: t.TempDir()}
	require.NoError(t, os.MkdirAll(filepath.Join(j.Root, "fork", "p"), 0o700))
	for name, text := range map[string]string{"a.go": "one two two", "b.go": "three", "a_test.go": "three"} {
		require.NoError(t, os.WriteFile(filepath.Join(j.Root, "fork", "p", name), []byte(text), 0o600))
	}
	has := func(tree, text string) bool {
		a, errA := os.ReadFile(filepath.Join(j.Root, tree, "p", "a.go"))
		b, errB := os.ReadFile(filepath.Join(j.Root, tree, "p", "b.go"))
		require.NoError(t, errors.Join(errA, errB))
		return strings.Contains(string(a)+string(b), text)
	}
	j.Compare = func(_ context.Context, tree string) (string, error) {
		if has(tree, "broken") {
			return "", errors.New("does not compile")
		}
		if has(tree, "compared") {
			return "7", nil
		}
		return "", nil
	}
	j.Test = func(ctx context.Context, tree string) ([]string, error) {
		if has(tree, "broken") {
			<-ctx.Done()
		}
		if has(tree, "tested") {
			return []string{"TestA", "TestB", "TestC"}, nil
		}
		return nil, nil
	}
	return j
}

func TestRun(t *testing.T) {
	t.Parallel()
	defects := []Defect{
		{"a", "p", "one", "compared"}, {"b", "p", "three", "tested"}, {"c", "p", "one", "compared tested"},
		{"d", "p", "three", "hidden"},
	}
	j := newJudges(t)
	var out strings.Builder
	enough, err := j.Run(t.Context(), "fork", defects, nil, &out)
	require.NoError(t, err)
	assert.False(t, enough, "3 of 4 are not 28 of 30")
	var found []string
	for line := range strings.Lines(out.String()) {
		line, _, _ = strings.Cut(strings.Join(strings.Fields(line), " "), " (")
		found = append(found, line)
	}
	assert.Equal(t, []string{
		"a compare, seed 7", "b tests TestA, TestB and 1 more", "c compare, seed 7; tests TestA, TestB and 1 more", "d nothing",
		"4 defects: 2 found by compare, 2 by tests, 1 by neither",
	}, found)
	assert.NoDirExists(t, filepath.Join(j.Root, "build", "planted"))

	enough, err = j.Run(t.Context(), "fork", defects, []string{"a", "b"}, &out)
	require.NoError(t, err)
	assert.True(t, enough)

	_, err = j.Run(t.Context(), "fork", defects, []string{"a", "no-such"}, &out)
	assert.EqualError(t, err, "etc/planted.yaml has 1 of 2: a no-such")

	_, err = j.Run(t.Context(), "fork", []Defect{{"e", "p", "one", "broken"}}, nil, &out)
	assert.ErrorContains(t, err, "e: does not compile", "no test has found it")
}

func TestRunKnowsWhatIsOutOfDate(t *testing.T) {
	t.Parallel()
	j := newJudges(t)
	_, err := j.Run(t.Context(), "fork", []Defect{{"a", "p", "one", "1"}, {"b", "p", "two", "2"}, {"c", "p", "four", "4"}},
		nil, os.Stdout)
	assert.EqualError(t, err, `etc/planted.yaml: the entry "b" is out of date: the files of p have its text 2 times; mend it there
etc/planted.yaml: the entry "c" is out of date: the files of p have its text 0 times; mend it there`)
}

func TestSeed(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	for _, tt := range []struct {
		output string
		err    error
		seed   string
		want   error
	}{
		{"2000 plans from seed 1\n", nil, "", nil},
		{"build/with/v2.5.0/compare\nseed 12: the traces differ\nplan {Seed: 12}\n", failed, "12", nil},
		{"does not compile\n", failed, "", failed},
	} {
		seed, err := Seed([]byte(tt.output), tt.err)
		assert.Equal(t, tt.seed, seed)
		assert.Equal(t, tt.want, err)
	}
}
