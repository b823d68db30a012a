package adopt

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"mongofork/tools/fork"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/syntax"
)

func goMod(t *testing.T, lines string) *modfile.File {
	t.Helper()
	file, err := modfile.Parse("go.mod", []byte("module m\n\n"+lines), nil)
	require.NoError(t, err)
	return file
}

func formatted(t *testing.T, file *modfile.File) string {
	t.Helper()
	text, err := file.Format()
	require.NoError(t, err)
	return strings.TrimPrefix(string(text), "module m\n\n")
}

// What putFork does to a go.mod file, removeFork takes back to the byte. An application that has come to require another version meanwhile
// keeps it.
func TestThereAndBack(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"require " + Driver + " v2.3.0\n",
		"require (\n\texample.com/a v1.0.0\n\t" + Driver + " v2.3.0 // indirect\n)\n",
		"require example.com/a v1.0.0\n",
		"require " + Driver + " v2.5.0\n\nreplace (\n\texample.com/a => ../a // why\n\texample.com/b => ../b\n)\n",
	} {
		file := goMod(t, text)
		require.NoError(t, putFork(file, "v2.5.0", module.Version{Path: "../fork"}))
		with := formatted(t, file)
		require.Contains(t, with, Driver+" v2.5.0 => ../fork // mongofork use: before, ", text)
		file = goMod(t, with)
		require.NoError(t, removeFork(file, t.TempDir()))
		require.Equal(t, text, formatted(t, file))

		file = goMod(t, with)
		require.NoError(t, file.AddRequire(Driver, "v2.8.0"))
		require.NoError(t, removeFork(file, t.TempDir()))
		require.Equal(t, "v2.8.0", requirement(file, Driver).Mod.Version, "no downgrade")
	}
}

// A replace line that is neither marked nor leads to the fork is somebody else's, even one to the driver's own path.
func TestOurs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, filetree.Tree{"fork/version/fork.go": []byte("package version\n\nconst Fork = \"fork.1\"\n"),
		"other/version/version.go": []byte("package version\n")}.Write(dir))
	for line, want := range map[string]bool{
		"=> ../elsewhere // mongofork use: before, v2.3.0": true,
		"v2.5.0 => ./fork":                true,
		"=> ./other":                      false,
		"=> ./gone":                       false,
		"=> " + Driver + " v2.5.0-fork.1": true,
		"=> " + Driver + " v2.8.0 // mongofork was here":         false,
		"=> " + Driver + " v2.8.1-0.20260101000000-0123456789ab": false,
		"v2.5.0 => example.com/patched/driver/v2 v2.5.0":         false,
		"=> example.com/mirror/driver/v2 v2.5.0-fork.1":          true,
	} {
		file := goMod(t, "replace "+Driver+" "+line+"\n")
		if err := removeFork(file, dir); want {
			require.NoError(t, err, line)
			require.Empty(t, file.Replace, line)
		} else {
			require.ErrorContains(t, err, "go.mod replaces the driver already: remove the line \"replace "+Driver+" ", line)
			require.Len(t, file.Replace, 1, line)
		}
	}
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	require.Equal(t, `go -C '/a b' run ./tools/cmd/mongofork '$x' 'it'\''s'`,
		Application{Project: &fork.Project{Root: "/a b"}}.CommandLine("$x", "it's"))
}

// What the fork requires with a published vulnerability is raised, unless the application's Go is too old for it, or has it raised already.
func TestMend(t *testing.T) {
	t.Parallel()
	all := []syntax.BaseRange{nil}
	list := []fork.Advisory{{ID: "GO-0"}, {ID: "GO-1", Affected: all}, {ID: "GO-2", Affected: all,
		Dependency: &struct{ Module, Fixed, Go string }{"example.com/m", "v1.2.0", "1.25"}}}
	const raised = "v1.2.0 of example.com/m is required, if anything uses it, because of the vulnerability GO-2"
	for before, want := range map[string][]string{
		"go 1.25.0\n\nrequire example.com/m v1.1.0 // indirect\n": {"v1.2.0 // indirect", raised},
		"go 1.25.0\n\nrequire example.com/m v1.1.0\n":             {"v1.2.0", raised},
		"go 1.25.0\n": {"v1.2.0 // indirect", raised},
		"go 1.25.0\n\nrequire example.com/m v1.3.0 // indirect\n": {"v1.3.0 // indirect"},
		"go 1.19\n\nrequire example.com/m v1.1.0 // indirect\n": {"v1.1.0 // indirect",
			"v1.2.0 of example.com/m would mend the vulnerability GO-2, but needs a go line of at least 1.25"},
	} {
		file := goMod(t, before)
		notes, err := mend(file, list, "v2.5.0")
		require.NoError(t, err)
		require.Contains(t, formatted(t, file), "example.com/m "+want[0]+"\n", before)
		require.ElementsMatch(t, want[1:], notes, before)
	}
}
