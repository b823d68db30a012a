package series

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fakeAPIDiff does what apidiff does to names, one in each line of api: it writes them, or compares two such files.
func fakeAPIDiff(t *testing.T, api *string) func(args ...string) (string, error) {
	names := func(file string) []string {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		return strings.Fields(string(data))
	}
	return func(args ...string) (string, error) {
		require.Equal(t, []string{"run", "apidiff@v1", "-m"}, args[:3])
		if args[3] == "-w" {
			require.Equal(t, "example.org/m", args[5])
			return "", os.WriteFile(args[4], []byte(*api), 0o600)
		}
		was, is := names(args[len(args)-2]), names(args[len(args)-1])
		out := "Ignoring internal package example.org/m/internal\n"
		for _, name := range was {
			if !slices.Contains(is, name) {
				out += "- " + name + ": removed\n"
			}
		}
		for _, name := range is {
			if args[3] != "-incompatible" && !slices.Contains(was, name) {
				out += "- " + name + ": added\n"
			}
		}
		return out, nil
	}
}

// Each patch's new names are told, and a patch after which a name of upstream's is missing is refused. Names that an earlier patch
// has added may go.
func TestSeriesAPI(t *testing.T) {
	t.Parallel()
	api := "A B"
	a := apiDiff{tool: "apidiff@v1", module: "example.org/m", dir: t.TempDir(), goTool: fakeAPIDiff(t, &api)}
	require.NoError(t, a.begin())
	for _, step := range []struct{ api, want string }{
		{"A B", "API: 0 names added"},
		{"A B C D", "API: 2 names added (C, D)"},
		{"A B D E", "API: 2 names added (C: removed, E)"},
	} {
		api = step.api
		said, err := a.check()
		require.NoError(t, err)
		require.Equal(t, step.want, said)
	}
	api = "A D E"
	_, err := a.check()
	require.EqualError(t, err, "the exported API breaks: B: removed")

	none := apiDiff{}
	require.NoError(t, none.begin())
	said, err := none.check()
	require.NoError(t, err)
	require.Equal(t, "API not compared", said)
}
