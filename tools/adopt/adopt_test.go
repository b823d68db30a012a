package adopt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"mongofork/tools/fork/filetree"
)

const driver = Driver

func TestChoose(t *testing.T) {
	t.Parallel()
	bases := []string{"v2.5.0", "v2.10.0"}
	for _, tc := range []struct{ required, wanted, want, err string }{
		{"v2.0.0", "", "v2.5.0", ""},
		{"v2.4.99", "", "v2.5.0", ""},
		{"v2.5.0-beta1", "", "v2.5.0", ""},
		{"v2.5.0", "", "v2.5.0", ""},
		{"v2.5.1-0.20260101000000-0123456789ab", "", "v2.10.0", ""},
		{"v2.5.1", "", "v2.10.0", ""},
		{"v2.9.3", "", "v2.10.0", ""},
		{"v2.10.0", "", "v2.10.0", ""},
		{"v2.10.1", "", "", "v2.10.1 of the driver is required, which is newer than every base (v2.5.0, v2.10.0)"},
		{"v2.5.0", "v2.10.0", "v2.10.0", ""},
		{"v2.5.0", "v2.5.0", "v2.5.0", ""},
		{"v2.5.1", "v2.5.0", "", "the fork of v2.5.0 would be a step back"},
		{"v2.5.0", "v2.7.0", "", "there is no base v2.7.0; there are v2.5.0, v2.10.0"},
	} {
		got, err := choose(bases, tc.wanted, tc.required)
		require.Equal(t, tc.want, got, tc)
		if tc.err == "" {
			require.NoError(t, err, tc)
		} else {
			require.ErrorContains(t, err, tc.err, tc)
		}
	}
}

// What putFork does to a go.mod file, removeFork takes back to the byte.
func TestThereAndBack(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"the same version": "module m\n\nrequire go.mongodb.org/mongo-driver/v2 v2.5.0\n",
		"an older one":     "module m\n\nrequire go.mongodb.org/mongo-driver/v2 v2.3.0\n",
		"an indirect one": "module m\n\nrequire (\n\texample.com/a v1.0.0\n" +
			"\tgo.mongodb.org/mongo-driver/v2 v2.3.0 // indirect\n)\n",
		"none": "module m\n\nrequire example.com/a v1.0.0\n",
		"other lines, a block": "module m\n\nrequire go.mongodb.org/mongo-driver/v2 v2.5.0\n\nreplace (\n" +
			"\texample.com/a => ../a // why\n\texample.com/b => ../b\n)\n",
	} {
		file, err := modfile.Parse("go.mod", []byte(text), nil)
		require.NoError(t, err, name)
		require.NoError(t, putFork(file, "v2.5.0", module.Version{Path: "../fork"}))
		with, err := file.Format()
		require.NoError(t, err)
		require.Contains(t, string(with), driver+" v2.5.0 => ../fork // mongofork use: before, ", name)
		file, err = modfile.Parse("go.mod", with, nil)
		require.NoError(t, err)
		require.Contains(t, versions(file), "v2.5.0", name)
		require.True(t, hasOurs(file, t.TempDir()))
		require.NoError(t, removeFork(file, t.TempDir()))
		back, err := file.Format()
		require.NoError(t, err)
		require.Equal(t, text, string(back), name)
	}
}

// An application that has come to require another version while it used the fork keeps it.
func TestTheWayBackIsNoDowngrade(t *testing.T) {
	t.Parallel()
	for _, before := range []string{"v2.3.0", "nothing"} {
		file, err := modfile.Parse("go.mod", []byte("module m\n\nrequire "+driver+" v2.8.0\n\nreplace "+driver+
			" v2.5.0 => ../fork // mongofork use: before, "+before+"\n"), nil)
		require.NoError(t, err)
		require.NoError(t, removeFork(file, t.TempDir()))
		require.Equal(t, []string{"v2.8.0"}, versions(file), before)
		require.Empty(t, file.Replace, before)
	}
}

func versions(file *modfile.File) []string {
	var list []string
	for _, r := range file.Require {
		if r.Mod.Path == driver {
			list = append(list, r.Mod.Version)
		}
	}
	return list
}

// A replace line that is neither marked nor leads to the fork is somebody else's, even one to the driver's own path.
func TestOurs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, data := range map[string]string{"fork/version/fork.go": "package version\n\nconst Fork = \"fork.1\"\n",
		"other/version/version.go": "package version\n"} {
		require.NoError(t, filetree.Tree{name: []byte(data)}.Write(dir))
	}
	for line, want := range map[string]bool{
		"=> ../elsewhere // mongofork use: before, v2.3.0": true,
		"v2.5.0 => ./fork":                true,
		"=> ./other":                      false,
		"=> ./gone":                       false,
		"=> " + driver + " v2.5.0-fork.1": true,
		"=> " + driver + " v2.8.0":        false,
		"=> " + driver + " v2.8.0 // mongofork was here":         false,
		"=> " + driver + " v2.8.0-beta1":                         false,
		"=> " + driver + " v2.8.1-0.20260101000000-0123456789ab": false,
		"v2.5.0 => example.com/patched/driver/v2 v2.5.0":         false,
		"=> example.com/mirror/driver/v2 v2.5.0-fork.1":          true,
	} {
		file, err := modfile.Parse("go.mod", []byte("module m\n\nreplace "+driver+" "+line+"\n"), nil)
		require.NoError(t, err, line)
		require.Equal(t, want, hasOurs(file, dir), line)
		err = removeFork(file, dir)
		if want {
			require.NoError(t, err, line)
			require.Empty(t, file.Replace, line)
			continue
		}
		require.ErrorContains(t, err, "go.mod replaces the driver already: remove the line \"replace "+driver+" ", line)
		require.Len(t, file.Replace, 1, line)
	}
}

// The go command takes a path from where it believes to be, which may be a link.
func TestRelative(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	in := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	for _, name := range []string{"fork", "apps/deep/app/inner", "links"} {
		require.NoError(t, os.MkdirAll(in(name), 0o700))
	}
	require.Equal(t, "../../../fork", relative(in("apps/deep/app"), in("apps/deep/app"), in("fork")))
	require.Equal(t, "./inner", relative(in("apps/deep/app"), in("apps/deep/app"), in("apps/deep/app/inner")))
	if err := os.Symlink(in("apps/deep/app"), in("links/app")); err != nil {
		t.Skipf("this system has no symbolic links: %v", err)
	}
	require.Equal(t, in("fork"), relative(in("links/app"), in("apps/deep/app"), in("fork")))
}

// newSums is the go.sum after go mod tidy.
const newSums = driver + " v2.5.0-fork.1 h1:new=\n" + driver + " v2.5.0-fork.2 h1:new=\n"

// goCommand stands in for the go command: it fails where a test wants it to, and writes what the real one would.
type goCommand struct {
	t    *testing.T
	fail string // the beginning of the arguments
}

func (g goCommand) run(_ context.Context, dir string, _ []string, _ string, args ...string) ([]byte, error) {
	line := strings.Join(args, " ")
	if g.fail != "" && strings.HasPrefix(line, g.fail) {
		return nil, errors.New("the test fails " + g.fail)
	}
	switch {
	case strings.HasPrefix(line, "list -m -json"):
		if data, err := os.ReadFile(filepath.Join(dir, "go.mod")); err != nil || !strings.Contains(string(data), "=>") {
			return []byte(`{"Version": "v2.5.0"}`), err
		}
		return []byte(`{"Version": "v2.5.0", "Replace": {"Path": "` + driver + `", "Version": "v2.5.0-fork.1"}}`), nil
	case strings.HasPrefix(line, "list -m"):
		return []byte("v2.5.0\n"), nil
	case strings.HasPrefix(line, "mod tidy"):
		at := filepath.Dir(strings.TrimPrefix(args[2], "-modfile="))
		require.NoError(g.t, os.WriteFile(filepath.Join(at, "go.sum"), []byte(newSums), 0o600))
	case strings.HasPrefix(line, "mod vendor"):
		require.NoError(g.t, filetree.Tree{"modules.txt": []byte("new\n"), "new/file.go": []byte("package new\n")}.
			Write(args[len(args)-1]))
	}
	return nil, nil
}

// application writes an application that has the files, and stands in for the go command.
func application(t *testing.T, fail string, files filetree.Tree) Application {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, files.Write(dir))
	return Application{Dir: dir, Bases: []string{"v2.5.0"}, Root: t.TempDir(), Run: goCommand{t, fail}.run,
		Sums: func(context.Context, string) (string, string, error) { return newSums, "the test", nil }}
}

// prepared opens an application and prepares it for a release of the fork, or if that is empty for upstream's driver.
func prepared(t *testing.T, app Application, version string) (*Change, error) {
	t.Helper()
	change, err := app.Open(t.Context())
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { require.NoError(t, change.Close()) })
	if version == "" {
		err = change.Undo(t.Context())
	} else {
		err = change.Use(t.Context(), "", func(string) (module.Version, error) {
			return module.Version{Path: driver, Version: version}, nil
		})
	}
	return change, errors.Join(err, change.Build(t.Context()))
}

const target = "v2.5.0-fork.1"

var withVendor = filetree.Tree{
	"go.mod": []byte("module m\n\nrequire " + driver + " v2.5.0\n"), "go.sum": []byte("old sums\n"),
	"vendor/modules.txt": []byte("old\n"), "vendor/old/deep/file.go": []byte("package deep\n"), "main.go": []byte("package main\n"),
}

// Wherever it fails, the application's folder is as it was; where nothing fails, all of it changes, and Undo is the way back.
func TestAllOrNothing(t *testing.T) {
	t.Parallel()
	for _, fail := range []string{"env GOWORK", "list -m -mod", "mod tidy", "build", "mod vendor", "list -m -json", ""} {
		t.Run(fail, func(t *testing.T) {
			t.Parallel()
			app := application(t, fail, withVendor)
			change, err := prepared(t, app, target)
			if err == nil {
				requireFiles(t, app, withVendor) // before Commit
				_, err = change.Commit(t.Context())
				require.NoError(t, change.Close())
				require.NoDirExists(t, change.at, "the copies are gone")
			}
			if fail != "" {
				require.ErrorContains(t, err, "the test fails "+fail)
				requireFiles(t, app, withVendor)
				return
			}
			require.NoError(t, err)
			now, err := filetree.Read(app.Dir)
			require.NoError(t, err)
			require.Equal(t, []string{"go.mod", "go.sum", "main.go", "vendor/modules.txt", "vendor/new/file.go"}, now.Paths())
			require.Contains(t, string(now["go.mod"]), "v2.5.0-fork.1 // mongofork use: before, v2.5.0")
			require.Equal(t, newSums, string(now["go.sum"]))
			_, err = os.Stat(filepath.Join(app.Dir, "vendor", "old"))
			require.ErrorIs(t, err, os.ErrNotExist, "no empty folder stays")
			undo(t, app)
			requireFiles(t, app, withVendor)
			require.NoFileExists(t, app.recordFile())
		})
	}
}

func requireFiles(t *testing.T, app Application, want filetree.Tree) {
	t.Helper()
	now, err := filetree.Read(app.Dir)
	require.NoError(t, err)
	require.Equal(t, want, now)
}

func use(t *testing.T, app Application, version string) *Change {
	t.Helper()
	change, err := prepared(t, app, version)
	require.NoError(t, err)
	_, err = change.Commit(t.Context())
	require.NoError(t, err)
	return change
}

func undo(t *testing.T, app Application) *Change { return use(t, app, "") }

// A write that fails in the middle is taken back.
func TestFailedWrite(t *testing.T) {
	t.Parallel()
	app := application(t, "", withVendor)
	change, err := prepared(t, app, target)
	require.NoError(t, err)
	change.After["go.mod/file"] = nil // a file below a file
	_, err = change.Commit(t.Context())
	require.Error(t, err)
	requireFiles(t, app, withVendor)
}

// Line ends, modes and links are kept by Use; Undo gives the bytes back, also after several uses.
func TestUndoIsTheWayBack(t *testing.T) {
	t.Parallel()
	const text = "// kept\r\nmodule   m\r\n\r\nrequire " + driver + "   v2.5.0 // why\r\n"
	app := application(t, "", filetree.Tree{"kept/mod": []byte(text), "go.sum": []byte("old sums\r\n")})
	modFile, sumFile := filepath.Join(app.Dir, "kept", "mod"), filepath.Join(app.Dir, "go.sum")
	if err := os.Symlink(filepath.Join("kept", "mod"), filepath.Join(app.Dir, "go.mod")); err != nil {
		t.Skipf("this system has no symbolic links: %v", err)
	}
	require.NoError(t, os.Chmod(modFile, 0o640))
	require.NoError(t, os.Chmod(sumFile, 0o600))
	requireModes := func(name string) {
		link, err := os.Lstat(filepath.Join(app.Dir, "go.mod"))
		require.NoError(t, err)
		require.Equal(t, os.ModeSymlink, link.Mode().Type(), name)
		for file, want := range map[string]os.FileMode{modFile: 0o640, sumFile: 0o600} {
			info, err := os.Stat(file)
			require.NoError(t, err)
			require.Equal(t, want, info.Mode(), name+" "+file)
		}
	}
	for name, uses := range map[string][]string{"once": {target}, "again": {target, target}, "another": {target, "v2.5.0-fork.2"}} {
		for _, version := range uses {
			use(t, app, version)
		}
		with, err := os.ReadFile(modFile)
		require.NoError(t, err)
		require.Equal(t, strings.Count(string(with), "\n"), strings.Count(string(with), "\r\n"), name)
		sums, err := os.ReadFile(sumFile)
		require.NoError(t, err)
		require.Equal(t, strings.ReplaceAll(newSums, "\n", "\r\n"), string(sums), name)
		requireModes(name)
		undo(t, app)
		back, err := os.ReadFile(modFile)
		require.NoError(t, err)
		require.Equal(t, text, string(back), name)
		sums, err = os.ReadFile(sumFile)
		require.NoError(t, err)
		require.Equal(t, "old sums\r\n", string(sums), name)
		requireModes(name)
	}
}

// Without a record, as in another clone of the fork, Undo goes by the comment of the replace line.
func TestUndoWithoutARecord(t *testing.T) {
	t.Parallel()
	app := application(t, "", filetree.Tree{"go.mod": []byte("module m\n\nrequire " + driver + " v2.3.0\n")})
	use(t, app, target)
	require.NoError(t, os.Remove(app.recordFile()))
	require.Contains(t, undo(t, app).Notes[0], "there is no record")
	back, err := os.ReadFile(filepath.Join(app.Dir, "go.mod"))
	require.NoError(t, err)
	require.Equal(t, "module m\n\ngo 1.16\n\nrequire "+driver+" v2.3.0\n", string(back), "without a go line it means Go 1.16")
}

// The go command adds to go.work.sum at will, which a look at an application does not.
func TestCheckKeepsTheWorkspace(t *testing.T) {
	t.Parallel()
	app := application(t, "", filetree.Tree{"go.mod": []byte("module m\n\nrequire " + driver + " v2.5.0\n")})
	work := filepath.Join(app.Dir, "go.work")
	run := app.Run
	app.Run = func(ctx context.Context, dir string, env []string, name string, args ...string) ([]byte, error) {
		if args[0] == "env" && args[1] == "GOWORK" {
			return []byte(work + "\n"), nil
		}
		require.NoError(t, os.WriteFile(work+".sum", []byte("more sums\n"), 0o600))
		return run(ctx, dir, env, name, args...)
	}
	_, err := app.Check(t.Context(), "")
	require.ErrorContains(t, err, "upstream's driver")
	require.NoFileExists(t, work+".sum")
	require.NoError(t, os.WriteFile(work+".sum", []byte("sums\n"), 0o600))
	_, err = app.Check(t.Context(), "")
	require.ErrorContains(t, err, "upstream's driver")
	sums, err := os.ReadFile(work + ".sum")
	require.NoError(t, err)
	require.Equal(t, "sums\n", string(sums))
}

// In a folder below a go.work file that does not list the module, the go command knows none of its dependencies.
func TestNotInTheWorkspace(t *testing.T) {
	t.Parallel()
	app := application(t, "", filetree.Tree{"go.mod": []byte("module m\n\nrequire " + driver + " v2.5.0\n")})
	app.Run = func(_ context.Context, _ string, _ []string, _ string, args ...string) ([]byte, error) {
		switch line := strings.Join(args, " "); {
		case line == "env GOWORK":
			return []byte(filepath.Join(app.Dir, "..", "go.work")), nil
		case line == "list -m":
			return []byte("example.com/other\n"), nil
		case strings.HasPrefix(line, "list -m -json"):
			return nil, errors.New("go: module " + driver + ": not a known dependency")
		}
		return []byte("v2.5.0\n"), nil
	}
	_, err := app.Check(t.Context(), "")
	require.ErrorContains(t, err, "m is below a go.work file that does not list it")
	_, err = prepared(t, app, target)
	require.ErrorContains(t, err, "m is below a go.work file that does not list it")
}

// An application whose own code uses v1 can have v2 from a dependency, and is told that this is all that the fork replaces.
func TestNoteOfV1(t *testing.T) {
	t.Parallel()
	for requirement, told := range map[string]bool{"v1.17.9": true, "v1.17.9 // indirect": false} {
		app := application(t, "",
			filetree.Tree{"go.mod": []byte("module m\n\nrequire go.mongodb.org/mongo-driver " + requirement +
				"\n\nrequire " + driver + " v2.5.0 // indirect\n")})
		use(t, app, target)
		effect, err := app.Check(t.Context(), "")
		require.NoError(t, err)
		require.Equal(t, told, strings.Contains(effect,
			"also requires v1 of the driver, go.mongodb.org/mongo-driver@v1.17.9, and the fork does not replace that"), effect)
	}
}

// A level of the fork is compared as a version; commits lie between the releases.
func TestReaches(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		level, least string
		want         bool
	}{
		{"fork.2", "fork.2", true},
		{"fork.10", "fork.2", true},
		{"fork.2", "fork.10", false},
		{"fork.1.gabcdef012345", "fork.2", false},
		{"fork.2.gabcdef012345.edited", "fork.2", true},
		{"fork.0.unknown", "fork.1", false},
		{"", "fork.0", false},
		{"house.9", "fork.2", false},
	} {
		require.Equal(t, tc.want, reaches(tc.level, tc.least), tc)
	}
}

// A release whose hash is not the known one is refused, by Use and by Check, wherever the hash stands.
func TestAnotherHash(t *testing.T) {
	t.Parallel()
	other := strings.ReplaceAll(newSums, "h1:new=", "h1:other=")
	plain := filetree.Tree{"go.mod": []byte("module m\n\nrequire " + driver + " v2.5.0\n")}
	sums := func(lines string, err error) func(context.Context, string) (string, string, error) {
		return func(_ context.Context, version string) (string, string, error) {
			require.Equal(t, target, version)
			return lines, "etc/released.sum", err
		}
	}
	for name, tt := range map[string]struct {
		lines, want string
		err         error
	}{
		"the fork":     {lines: other, want: "v2.5.0-fork.1 is not the release: its hash is h1:new=, and etc/released.sum has h1:other="},
		"an adapter":   {lines: newSums + "example.com/adapter v1.0.0 h1:other=\n", want: "example.com/adapter v1.0.0 is not the release"},
		"an unknown":   {err: errors.New("not known here"), want: "not known here"},
		"of no module": {lines: "", want: ""},
	} {
		app := application(t, "", plain)
		run := app.Run
		app.Run = func(ctx context.Context, dir string, env []string, name string, args ...string) ([]byte, error) {
			out, err := run(ctx, dir, env, name, args...)
			if at := strings.TrimPrefix(strings.Join(args, " "), "mod tidy -modfile="); err == nil && len(args) == 3 && at != "" {
				text := newSums + "example.com/adapter v1.0.0 h1:new=\n"
				err = os.WriteFile(filepath.Join(filepath.Dir(at), "go.sum"), []byte(text), 0o600)
			}
			return out, err
		}
		app.Sums = sums(tt.lines, tt.err)
		_, err := prepared(t, app, target)
		if tt.want == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, tt.want, name)
		requireFiles(t, app, plain)

		app.Sums = sums(newSums, nil)
		use(t, app, target)
		_, err = app.Check(t.Context(), "")
		require.NoError(t, err, name)
		app.Sums = sums(tt.lines, tt.err)
		_, err = app.Check(t.Context(), "")
		require.ErrorContains(t, err, tt.want, name)
		require.NoError(t, os.Remove(filepath.Join(app.Dir, "go.sum")))
		app.Sums = sums(newSums, nil)
		_, err = app.Check(t.Context(), "")
		require.ErrorContains(t, err, "go.sum has no hash of "+driver+" v2.5.0-fork.1", name)
	}
}

// What the go command has downloaded is compared, too: go.sum is not asked for what is in the module cache.
func TestAnotherDownload(t *testing.T) {
	t.Parallel()
	app := application(t, "", filetree.Tree{"go.mod": []byte("module m\n\nrequire " + driver + " v2.5.0\n"), "go.sum": []byte(newSums)})
	cached := t.TempDir()
	require.NoError(t, filetree.Tree{"go.mod": []byte("module " + driver + "\n")}.Write(cached))
	app.Run = func(_ context.Context, _ string, _ []string, _ string, args ...string) ([]byte, error) {
		if args[0] == "env" {
			return nil, nil
		}
		return fmt.Appendf(nil, `{"Version": "v2.5.0", "Replace": {"Path": %q, "Version": %q, "Dir": %q}}`, driver, target, cached), nil
	}
	_, err := app.Check(t.Context(), "")
	require.ErrorContains(t, err, "v2.5.0-fork.1 is not the release: its hash is h1:")
}
