package adopt

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"mongofork/tools/fork"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/syntax"
)

func TestChoose(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ required, wanted, want, err string }{
		{"v2.4.99", "", "v2.5.0", ""},
		{"v2.5.0-beta1", "", "v2.5.0", ""},
		{"v2.5.0", "", "v2.5.0", ""},
		{"v2.5.1-0.20260101000000-0123456789ab", "", "v2.10.0", ""},
		{"v2.9.3", "", "v2.10.0", ""},
		{"v2.10.1", "", "", "v2.10.1 of the driver is required, which is newer than every base (v2.5.0, v2.10.0)"},
		{"v2.5.0", "v2.10.0", "v2.10.0", ""},
		{"v2.5.1", "v2.5.0", "", "the fork of v2.5.0 would be a step back"},
		{"v2.5.0", "v2.7.0", "", "there is no base v2.7.0; there are v2.5.0, v2.10.0"},
	} {
		got, err := choose([]string{"v2.5.0", "v2.10.0"}, tc.wanted, tc.required)
		require.Equal(t, tc.want, got, tc)
		if tc.err == "" {
			require.NoError(t, err, tc)
		} else {
			require.ErrorContains(t, err, tc.err, tc)
		}
	}
}

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
		"=> " + Driver + " v2.8.0-beta1":                         false,
		"=> " + Driver + " v2.8.1-0.20260101000000-0123456789ab": false,
		"v2.5.0 => example.com/patched/driver/v2 v2.5.0":         false,
		"=> example.com/mirror/driver/v2 v2.5.0-fork.1":          true,
	} {
		file := goMod(t, "replace "+Driver+" "+line+"\n")
		require.Equal(t, want, hasOurs(file, dir), line)
		if err := removeFork(file, dir); want {
			require.NoError(t, err, line)
			require.Empty(t, file.Replace, line)
		} else {
			require.ErrorContains(t, err, "go.mod replaces the driver already: remove the line \"replace "+Driver+" ", line)
			require.Len(t, file.Replace, 1, line)
		}
	}
}

// The go command takes a path from where it believes to be, which may be a link.
func TestRelative(t *testing.T) {
	t.Parallel()
	at := func(name string) string { return filepath.Join(t.TempDir(), filepath.FromSlash(name)) }
	app, fork := at("apps/deep/app"), at("fork")
	require.Equal(t, "./inner", relative(app, app, filepath.Join(app, "inner")))
	require.Equal(t, "../fork", relative(app, app, filepath.Join(filepath.Dir(app), "fork")))
	require.Equal(t, fork, relative(at("links/app"), app, fork))
}

// A level of the fork is compared as a version; commits lie between the releases.
func TestReaches(t *testing.T) {
	t.Parallel()
	for pair, want := range map[[2]string]bool{
		{"fork.2", "fork.2"}:                      true,
		{"fork.10", "fork.2"}:                     true,
		{"fork.2", "fork.10"}:                     false,
		{"fork.1.gabcdef012345", "fork.2"}:        false,
		{"fork.2.gabcdef012345.edited", "fork.2"}: true,
		{"fork.0.unknown", "fork.1"}:              false,
		{"", "fork.0"}:                            false,
		{"house.9", "fork.2"}:                     false,
	} {
		require.Equal(t, want, reaches(pair[0], pair[1]), pair)
	}
}

// A release whose hash is not the known one is refused, wherever the hash stands, and so is an adapter.
func TestAnotherHash(t *testing.T) {
	t.Parallel()
	const known = Driver + " v2.5.0-fork.1 h1:good=\nexample.com/adapter v0.0.0-fork.1 h1:good=\n"
	const other = "example.com/unknown v1.0.0 h1:any=\n"
	for goSum, want := range map[string]string{
		known + other: "",
		other:         "go.sum has no hash of " + Driver + " v2.5.0-fork.1",
		known + Driver + " v2.5.0-fork.1 h1:bad=\n":         "v2.5.0-fork.1 is not the release: its hash is h1:bad=, and here has h1:good=",
		known + "example.com/adapter v0.0.0-fork.1 h1:bad=": "example.com/adapter v0.0.0-fork.1 is not the release",
	} {
		err := compare(goSum, known, "here", module.Version{Path: Driver, Version: "v2.5.0-fork.1"})
		if want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
}

// What the fork requires with a published vulnerability is raised, unless the application's Go is too old for it, or has it raised already.
func TestMends(t *testing.T) {
	t.Parallel()
	var all syntax.BaseRange
	require.True(t, all.Holds("v2.5.0"))
	list := []fork.Advisory{{ID: "GO-0"}, {ID: "GO-1", Affected: []syntax.BaseRange{all}}, {ID: "GO-2", Affected: []syntax.BaseRange{all},
		Dependency: &struct{ Module, Fixed, Go string }{"example.com/m", "v1.2.0", "1.25"}}}
	const raised = "v1.2.0 of example.com/m is required, because what the fork requires has the vulnerability GO-2"
	for before, want := range map[string][]string{
		"go 1.25.0\n\nrequire example.com/m v1.1.0 // indirect\n": {"v1.2.0 // indirect", raised},
		"go 1.25.0\n\nrequire example.com/m v1.1.0\n":             {"v1.2.0", raised},
		"go 1.25.0\n": {"v1.2.0 // indirect", raised},
		"go 1.25.0\n\nrequire example.com/m v1.3.0 // indirect\n": {"v1.3.0 // indirect"},
		"go 1.19\n\nrequire example.com/m v1.1.0 // indirect\n": {"v1.1.0 // indirect",
			"v1.1.0 of example.com/m has the vulnerability GO-2: v1.2.0 does not, but needs Go 1.25, and the go line has 1.19"},
	} {
		file := goMod(t, before)
		require.NoError(t, mend(file, list, "v2.5.0"))
		require.Contains(t, formatted(t, file), "example.com/m "+want[0]+"\n", before)
		require.ElementsMatch(t, want[1:], mended(list, "v2.5.0", goMod(t, before), file), before)
	}
}

// The files of a vendored application, without and with the fork.
var (
	without = filetree.Tree{"go.mod": []byte("module m\n"), "go.sum": []byte("old sums\n"), modules: []byte("old\n"),
		"vendor/old/deep/file.go": []byte("package deep\n"), "vendor/same/file.go": []byte("package same\n")}
	forked = filetree.Tree{"go.mod": []byte("module m // fork\n"), "go.sum": []byte("new sums\n"), modules: []byte("new\n"),
		"vendor/new/file.go": []byte("package new\n"), "vendor/old": []byte("a file\n"), "vendor/same/file.go": []byte("package same\n")}
)

// changing returns a change of an application that is to be made.
func changing(t *testing.T, before, after filetree.Tree) *Change {
	t.Helper()
	c := &Change{Application: Application{Dir: realFolder(t.TempDir()), Project: &fork.Project{Root: t.TempDir()}},
		Before: before, After: after, vendored: before[modules] != nil}
	require.NoError(t, before.Write(c.Dir))
	return c
}

func requireFiles(t *testing.T, c *Change, want filetree.Tree) {
	t.Helper()
	now, err := filetree.Read(c.Dir)
	require.NoError(t, err)
	require.Equal(t, want, now)
}

// A write that fails in the middle is taken back, and a file that somebody edits while the application is built is not overwritten.
func TestFailedCommit(t *testing.T) {
	t.Parallel()
	c := changing(t, without, forked)
	c.After = maps.Clone(forked)
	c.After["go.mod/file"] = nil // a file below a file
	require.Error(t, c.commit(t.Context()))
	requireFiles(t, c, without)
	c.After = forked
	require.NoError(t, c.commit(t.Context()))
	requireFiles(t, c, forked)
	c = changing(t, without, forked)
	edited := maps.Clone(without)
	edited["vendor/old/file.go"] = nil
	require.NoError(t, edited.Write(c.Dir))
	require.ErrorContains(t, c.commit(t.Context()), "vendor/old/file.go was changed by somebody else meanwhile: run this again")
	now, err := filetree.Read(c.Dir)
	require.NoError(t, err)
	require.Empty(t, filetree.Changed(edited, now))
}

// What the go command cannot vendor is told before anything is built: this project could not be.
func TestNotVendorable(t *testing.T) {
	t.Parallel()
	c := changing(t, without, forked)
	c.given, c.Base, c.Progress = c.Dir, "v2.5.0", func(string) {}
	c.Project.Root = filepath.Join(c.Project.Root, "a folder")
	_, err := c.fork(t.Context(), false)
	require.ErrorContains(t, err, "cannot vendor a module from a folder with a space in its path")
}
