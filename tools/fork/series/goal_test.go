package series

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/command"
	"mongofork/tools/fork/filetree"
)

// A byte that is not the fork's, a file too many and a missing one are found after the last patch.
func TestSeriesCompared(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, want string
		change     func(t *testing.T, dir string, goal filetree.Tree)
	}{
		{name: "the same", change: func(*testing.T, string, filetree.Tree) {}},
		{name: "another byte", want: "after the series pool/policy.go is not what the fork has", change: func(t *testing.T, dir string, _ filetree.Tree) {
			file := filepath.Join(dir, "pool", "policy.go")
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(file, append(data, '\n'), 0o600))
		}},
		{name: "one too many", want: "after the series pool/count.go is not what the fork has", change: func(_ *testing.T, _ string, goal filetree.Tree) {
			delete(goal, "pool/count.go")
		}},
		{name: "one too few", want: "after the series the tree lacks pool/more.go", change: func(_ *testing.T, _ string, goal filetree.Tree) {
			goal["pool/more.go"] = []byte("package pool\n")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := planSeries(t, seriesOverlay())
			patches, _ := patchesOf(t, s)
			goal, err := s.goal()
			require.NoError(t, err)
			v, err := s.newTree(t.Context(), command.Output, Check{Dir: t.TempDir()})
			require.NoError(t, err)
			for _, patch := range patches[1:] {
				require.NoError(t, v.apply(patch))
			}
			tt.change(t, v.dir, goal)
			if err := v.compare(goal); tt.want != "" {
				require.EqualError(t, err, tt.want)
			} else {
				require.NoError(t, err)
			}
		})
	}
}

// The goal is of the overlay alone, without the files that are listed as left out.
func TestSeriesGoalIsOfTheOverlay(t *testing.T) {
	t.Parallel()
	s := planSeries(t, seriesOverlay())
	_, last := patchesOf(t, s)
	goal, err := s.goal()
	require.NoError(t, err)
	require.Empty(t, filetree.Changed(goal, last))
	require.NotContains(t, goal, "pool/own.go", "what is listed")
	require.Contains(t, string(goal["pool/policy.go"]), "func shout(")
}

// The series has the declarations of the fork as it is built, each as often and in the same form.
func TestSameDecls(t *testing.T) {
	t.Parallel()
	fork := filetree.Tree{"a/x.go": []byte("package a\n\n// F is F.\nfunc F() int { return 1 }\n\nvar V = 2\n")}
	moved := filetree.Tree{"a/x.go": []byte("package a\n\nvar V = 2\n"), "a/y.go": []byte("package a\n\nfunc F() int {\n\treturn 1\n}\n")}
	require.NoError(t, sameDecls(fork, moved))
	for text, want := range map[string]string{
		"package a\n\nfunc F() int { return 2 }\n": "is not in the series 1 times, as in the fork, but 0 times",
		"package a\n": "is not in the series 1 times, as in the fork, but 0 times",
		"package a\n\nfunc F() int { return 1 }\n\nfunc G() int { return 1 }\n": "is in the series, but not in the fork",
	} {
		other := maps.Clone(moved)
		other["a/y.go"] = []byte(text)
		require.ErrorContains(t, sameDecls(fork, other), want)
	}
}
