package adopt

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/filetree"
)

// However many steps of a change were made when it was killed, and however many of the way back when that was killed, the next Repair
// leaves the files as they were before, and Undo of an earlier change still knows its record.
func TestKilled(t *testing.T) {
	t.Parallel()
	plain := filetree.Tree{"go.mod": withVendor["go.mod"], "main.go": withVendor["main.go"]}
	for name, tt := range map[string]struct {
		files  filetree.Tree
		former string // what the application uses already
		to     string
	}{
		"use":                    {withVendor, "", target},
		"use, without a go.sum":  {plain, "", target},
		"another":                {withVendor, target, "v2.5.0-fork.2"},
		"undo":                   {withVendor, target, ""},
		"undo, without a go.sum": {plain, target, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := application(t, "", tt.files)
			if tt.former != "" {
				use(t, app, tt.former)
			}
			was, err := filetree.Read(app.Dir)
			require.NoError(t, err)
			change, err := prepared(t, app, tt.to)
			require.NoError(t, err)
			require.NoError(t, change.remember())
			p := place(app.Dir)
			for made := range len(change.steps(p)) + 1 {
				for taken := range len(change.back(p)) + 1 {
					require.NoError(t, run(change.steps(p)[:made]))
					if p.has(journal) {
						require.NoError(t, run(change.back(p)[:taken]))
					}
					if p.has(staging) {
						require.NoError(t, filetree.Tree{staging + "/.go.mod.1": nil}.Write(app.Dir), "in the middle of a file")
					}
					if taken == len(change.back(p))-1 {
						require.NoError(t, os.RemoveAll(p.file(before)), "in the middle of the last step")
					}
					underway := p.has(journal)
					repaired, err := app.Repair()
					require.NoError(t, err)
					require.Equal(t, underway, repaired)
					requireFiles(t, app, was)
				}
			}
			if tt.former != "" {
				undo(t, app)
				requireFiles(t, app, tt.files)
			}
		})
	}
}

// A change that was killed after it was complete stays; so does what a process has left that was killed while it prepared one.
func TestKilledAtTheEnds(t *testing.T) {
	t.Parallel()
	app := application(t, "", withVendor)
	change, err := prepared(t, app, target)
	require.NoError(t, err)
	require.NoError(t, change.remember())
	_, err = change.apply(t.Context())
	require.NoError(t, err)
	require.True(t, place(app.Dir).has(before+"/vendor"), "the old folder is still there")
	repaired, err := app.Repair()
	require.NoError(t, err)
	require.False(t, repaired)
	requireFiles(t, app, with(change.After, withVendor, []string{"main.go"}))
	undo(t, app)
	requireFiles(t, app, withVendor)
}

// What somebody has done after the kill is not lost, and the message has a way out.
func TestEditedSinceTheKill(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(dir string) error{
		"go.mod": func(dir string) error { return filetree.Tree{"go.mod": []byte("module edited\n")}.Write(dir) },
		"go.sum": func(dir string) error { return os.Remove(filepath.Join(dir, "go.sum")) },
		"vendor": func(dir string) error { return filetree.Tree{"vendor/modules.txt": []byte("edited\n")}.Write(dir) },
	} {
		app := application(t, "", withVendor)
		change, err := prepared(t, app, target)
		require.NoError(t, err)
		steps := change.steps(place(app.Dir))
		require.NoError(t, run(steps[:len(steps)-1]))
		require.NoError(t, edit(app.Dir))
		edited, err := filetree.Read(app.Dir)
		require.NoError(t, err)
		_, err = app.Repair()
		require.ErrorContains(t, err, "has changed since", name)
		requireFiles(t, app, edited)
		require.FileExists(t, filepath.Join(app.Dir, staging, "before", "vendor", "modules.txt"))
		require.NoError(t, os.RemoveAll(filepath.Join(app.Dir, staging)))
		_, err = app.Repair()
		require.NoError(t, err)
	}
}

// What cannot be changed stays as it is, and the message names it.
func TestNotChangeable(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"go.mod", "go.sum", "vendor", "."} {
		app := application(t, "", withVendor)
		name = filepath.Join(app.Dir, name)
		require.NoError(t, os.Chmod(name, 0o555))
		_, err := app.Open(t.Context())
		require.NoError(t, os.Chmod(name, 0o755))
		require.EqualError(t, err, name+" is read-only: make it writable first")
		requireFiles(t, app, withVendor)
	}
	for _, in := range []string{"application", "repository"} {
		app := application(t, "", withVendor)
		folder := filepath.Join(t.TempDir(), "a\nb")
		if in == "repository" {
			app.Root = folder
		} else {
			require.NoError(t, withVendor.Write(folder))
			app.Dir = folder
		}
		_, err := app.Open(t.Context())
		require.ErrorContains(t, err, "because of the line break: rename the folder", in)
		requireFiles(t, app, withVendor)
	}
}

// A file that somebody edits while the application is built is not overwritten.
func TestEditedMeanwhile(t *testing.T) {
	t.Parallel()
	app := application(t, "", withVendor)
	change, err := prepared(t, app, target)
	require.NoError(t, err)
	require.NoError(t, filetree.Tree{"vendor/old/file.go": []byte("package old\n")}.Write(app.Dir))
	_, err = change.Commit(t.Context())
	require.ErrorContains(t, err, "vendor/old/file.go was changed by somebody else meanwhile: run this again")
	requireFiles(t, app, with(withVendor, filetree.Tree{"vendor/old/file.go": []byte("package old\n")}, []string{"vendor/old/file.go"}))
}
