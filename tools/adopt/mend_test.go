package adopt

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/module"

	"mongofork/tools/fork/filetree"
)

// What the fork requires with a published vulnerability is raised, unless the application's Go is too old for it, or has it raised already.
func TestMends(t *testing.T) {
	t.Parallel()
	const raised = "v1.2.0 of example.com/m is required, because what the fork requires has the vulnerability GO-1"
	for name, tt := range map[string]struct{ goMod, want, note string }{
		"raised":        {"go 1.25.0\n\nrequire example.com/m v1.1.0 // indirect\n", "example.com/m v1.2.0 // indirect", raised},
		"for all":       {"go 1.25.0\n\nrequire example.com/m v1.1.0\n", "example.com/m v1.2.0", raised},
		"not there yet": {"go 1.25.0\n", "example.com/m v1.2.0 // indirect", raised},
		"higher":        {"go 1.25.0\n\nrequire example.com/m v1.3.0 // indirect\n", "example.com/m v1.3.0 // indirect", ""},
		"an older Go": {"go 1.19\n\nrequire example.com/m v1.1.0 // indirect\n", "example.com/m v1.1.0 // indirect",
			"v1.1.0 of example.com/m has the vulnerability GO-1: v1.2.0 does not, but needs Go 1.25, and the go line has 1.19"},
	} {
		app := application(t, "", filetree.Tree{"go.mod": []byte("module m\n\n" + tt.goMod + "\nrequire " + driver + " v2.5.0\n")})
		app.Mends = func(base string) ([]Mend, error) {
			require.Equal(t, "v2.5.0", base)
			return []Mend{{module.Version{Path: "example.com/m", Version: "v1.2.0"}, "GO-1", "1.25"}}, nil
		}
		change, err := prepared(t, app, target)
		require.NoError(t, err, name)
		require.Contains(t, string(change.After["go.mod"]), tt.want+"\n", name)
		var notes []string
		if tt.note != "" {
			notes = []string{tt.note}
		}
		require.Equal(t, notes, change.Notes, name)
		_, err = change.Commit(t.Context())
		require.NoError(t, err)
		undo(t, app)
		requireFiles(t, app, filetree.Tree{"go.mod": []byte("module m\n\n" + tt.goMod + "\nrequire " + driver + " v2.5.0\n")})
	}
}
