package git

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/filetree"
)

func TestStateOf(t *testing.T) {
	t.Parallel()
	g, done, err := New(t.Context(), Builder)
	require.NoError(t, err)
	t.Cleanup(done)
	state := func(dir string) State {
		s, err := StateOf(t.Context(), dir, []string{"ours", "gone"})
		require.NoError(t, err)
		return s
	}
	put := func(name, text string) {
		require.NoError(t, filetree.Replace(filepath.Join(g.Dir, name), []byte(text)))
	}
	require.Zero(t, state(t.TempDir()), "no repository")
	require.Zero(t, state(g.Dir), "no commit")
	g.Commit(filetree.Tree{"ours/a": nil, "theirs/a": nil}, "first")
	first := string(g.Run("rev-parse", "HEAD"))[:12]
	s := state(g.Dir)
	require.Equal(t, State{Commit: first, Time: s.Time, Tags: []string{}}, s)
	require.Equal(t, int64(946684800), s.Time.Unix())
	require.Zero(t, state(filepath.Join(g.Dir, "ours")), "just a folder in a repository")

	g.Commit(filetree.Tree{"ours/a": nil, "theirs/a": []byte("new")}, "second")
	require.Equal(t, first, state(g.Dir).Commit, "the second commit changed nothing of ours")
	g.Run("tag", "v1-fork.1")
	require.Equal(t, []string{"v1-fork.1"}, state(g.Dir).Tags)
	put("theirs/a", "edited")
	s = state(g.Dir)
	require.False(t, len(s.Tags) > 0 || s.Edited, "not what was tagged, but ours is as it was")
	put("ours/b", "new")
	require.True(t, state(g.Dir).Edited)
	require.NoError(t, g.Err)
	put(".git/config", "[core]\n\trepositoryformatversion = 9\n")
	_, err = StateOf(t.Context(), g.Dir, []string{"ours"})
	require.ErrorContains(t, err, "Expected git repo version <= 1, found 9", "git refuses")
}
