package adopt

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"mongofork/tools/fork/filetree"
)

const driver = "example.com/driver/v2"

func TestChoose(t *testing.T) {
	t.Parallel()
	bases := []string{"v2.5.0", "v2.9.3"}
	for _, tc := range []struct{ required, wanted, want, err string }{
		{"v2.0.0", "", "v2.5.0", ""},
		{"v2.4.99", "", "v2.5.0", ""},
		{"v2.5.0-beta1", "", "v2.5.0", ""},
		{"v2.5.0", "", "v2.5.0", ""},
		{"v2.5.1-0.20260101000000-0123456789ab", "", "v2.9.3", ""},
		{"v2.5.1", "", "v2.9.3", ""},
		{"v2.6.0", "", "v2.9.3", ""},
		{"v2.9.3", "", "v2.9.3", ""},
		{"v2.9.4", "", "", "requires v2.9.4 of the driver, which is newer than every base (v2.5.0, v2.9.3)"},
		{"v2.10.0", "", "", "newer than every base"},
		{"v2.5.0", "v2.9.3", "v2.9.3", ""},
		{"v2.5.0", "v2.5.0", "v2.5.0", ""},
		{"v2.5.1", "v2.5.0", "", "the fork of v2.5.0 would be a step back"},
		{"v2.5.0", "v2.7.0", "", "there is no base v2.7.0; there are v2.5.0, v2.9.3"},
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
		"the same version":     "module m\n\nrequire example.com/driver/v2 v2.5.0\n",
		"an older one":         "module m\n\nrequire example.com/driver/v2 v2.3.0\n",
		"an indirect one":      "module m\n\nrequire (\n\texample.com/a v1.0.0\n\texample.com/driver/v2 v2.3.0 // indirect\n)\n",
		"none":                 "module m\n\nrequire example.com/a v1.0.0\n",
		"other lines, a block": "module m\n\nrequire example.com/driver/v2 v2.5.0\n\nreplace (\n\texample.com/a => ../a // why\n\texample.com/b => ../b\n)\n",
	} {
		file, err := modfile.Parse("go.mod", []byte(text), nil)
		require.NoError(t, err, name)
		required := "v2.5.0"
		if !strings.Contains(text, required) {
			required = "v2.3.0"
		}
		require.NoError(t, putFork(file, module.Version{Path: driver, Version: "v2.5.0"}, module.Version{Path: "../fork"}, required))
		with, err := file.Format()
		require.NoError(t, err)
		require.Contains(t, string(with), driver+" v2.5.0 => ../fork // mongofork use: before, ", name)
		file, err = modfile.Parse("go.mod", with, nil)
		require.NoError(t, err)
		require.Contains(t, versions(file), "v2.5.0", name)
		require.True(t, hasOurs(file, driver, t.TempDir()))
		require.NoError(t, removeFork(file, driver, t.TempDir()))
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
		require.NoError(t, removeFork(file, driver, t.TempDir()))
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

// goCommand stands in for the go command: it fails where a test wants it to, and writes what the real one would.
type goCommand struct {
	t    *testing.T
	fail string // the beginning of the arguments
}

func (g goCommand) run(_ context.Context, _ string, _ []string, _ string, args ...string) ([]byte, error) {
	line := strings.Join(args, " ")
	if g.fail != "" && strings.HasPrefix(line, g.fail) {
		return nil, errors.New("the test fails " + g.fail)
	}
	switch {
	case strings.HasPrefix(line, "list -m"):
		return []byte("v2.5.0\n"), nil
	case strings.HasPrefix(line, "mod tidy"):
		at := filepath.Dir(strings.TrimPrefix(args[2], "-modfile="))
		require.NoError(g.t, os.WriteFile(filepath.Join(at, "go.sum"), []byte("new sums\n"), 0o600))
	case strings.HasPrefix(line, "mod vendor"):
		out := args[len(args)-1]
		require.NoError(g.t, os.MkdirAll(filepath.Join(out, "new"), 0o700))
		require.NoError(g.t, os.WriteFile(filepath.Join(out, "new", "file.go"), []byte("package new\n"), 0o600))
	}
	return nil, nil
}

// Wherever it fails, the application's folder is as it was; where nothing fails, all of it changes.
func TestAllOrNothing(t *testing.T) {
	t.Parallel()
	for _, fail := range []string{"env GOFLAGS", "list -m", "mod tidy", "build", "mod vendor", "env GOWORK", "list -e", ""} {
		t.Run(fail, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			before := filetree.Tree{
				"go.mod": []byte("module m\n\nrequire " + driver + " v2.5.0\n"), "go.sum": []byte("old sums\n"),
				"vendor/modules.txt": []byte("old\n"), "main.go": []byte("package main\n"),
			}
			for name, data := range before {
				require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
			}
			app := Application{Dir: dir, Driver: driver, Run: goCommand{t, fail}.run}
			change, err := app.Use(t.Context(), Plan{Bases: []string{"v2.5.0"}, Target: func(context.Context, string) (module.Version, error) {
				return module.Version{Path: filepath.Join(dir, "..", "fork")}, nil
			}})
			if err == nil {
				now, readErr := filetree.Read(dir)
				require.NoError(t, readErr)
				require.Equal(t, before, now, "before Commit nothing changes")
				err = change.Commit(t.Context())
				_, statErr := os.Stat(change.stage.at)
				require.ErrorIs(t, statErr, os.ErrNotExist, "the copies are gone")
			}
			now, readErr := filetree.Read(dir)
			require.NoError(t, readErr)
			if fail != "" {
				require.ErrorContains(t, err, "the test fails "+fail)
				require.Equal(t, before, now)
				return
			}
			require.NoError(t, err)
			require.Equal(t, []string{"go.mod", "go.sum", "main.go", "vendor/new/file.go"}, now.Paths())
			require.Contains(t, string(now["go.mod"]), "v2.5.0 => ../fork // mongofork use: before, v2.5.0")
			require.Equal(t, "new sums\n", string(now["go.sum"]))
		})
	}
}

// A build that fails says whether the application builds without the fork.
func TestFailedBuild(t *testing.T) {
	t.Parallel()
	for fail, want := range map[string]string{"build -mod=mod": "it builds without the change", "build": "it does not build without the change either"} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module m\n\nrequire "+driver+" v2.5.0\n"), 0o600))
		app := Application{Dir: dir, Driver: driver, Run: goCommand{t, fail}.run}
		plan := Plan{Bases: []string{"v2.5.0"}, Target: func(context.Context, string) (module.Version, error) {
			return module.Version{Path: driver, Version: "v2.5.0-fork.1"}, nil
		}}
		_, err := app.Use(t.Context(), plan)
		require.ErrorContains(t, err, want)
		plan.SkipBuild = true
		change, err := app.Use(t.Context(), plan)
		require.NoError(t, err)
		require.Contains(t, string(change.Files[0].Text), "=> "+driver+" v2.5.0-fork.1")
		change.Discard()
	}
}

func TestModFlagsAreOurs(t *testing.T) {
	t.Parallel()
	require.Equal(t, "-tags=x --trimpath", withoutModFlags("-mod=vendor -tags=x --modfile=go.alt.mod --trimpath -mod=mod"))
}
