// Package pages holds the pages to the folders that there are. It is a package of its own, because the go command runs its tests again
// whenever something in the root of the repository has changed.
package pages

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork"
	"mongofork/tools/fork/plan"
)

// root is the root of the repository.
var root = filepath.Join("..", "..", "..")

// TestMapShowsEveryFolder holds the README's map, etc/overlay and the folders together: the first table is the overlay, the
// second all the rest, and internal/ holds the overlay only.
func TestMapShowsEveryFolder(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	_, after, found := strings.Cut(string(readme), "## Where things are")
	require.True(t, found, "README.md has no map")
	driver, rest, found := strings.Cut(after, "**What builds and tests it.**")
	require.True(t, found, "the map has no second table")

	layers, err := plan.ReadLayers(root)
	require.NoError(t, err)
	var overlay []string
	for _, layer := range layers {
		folders := layer.Folders
		if layer.Below {
			folders = []string{path.Dir(layer.Name)}
		}
		for _, folder := range folders {
			if path.Ext(folder) != "" {
				folder = path.Dir(folder)
			}
			overlay = append(overlay, folder)
		}
	}
	covers := func(shown, folder string) bool { return shown == folder || strings.HasPrefix(shown, folder+"/") }
	for _, folder := range overlay {
		require.True(t, slices.ContainsFunc(foldersIn(driver), func(shown string) bool { return covers(shown, folder) }),
			"the map of the driver lacks %s of etc/overlay", folder)
	}
	for _, shown := range append(foldersIn(driver), foldersIn(rest)...) {
		require.DirExists(t, filepath.Join(root, shown), "the map shows it")
	}
	for _, shown := range foldersIn(driver) {
		require.True(t, slices.ContainsFunc(overlay, func(folder string) bool { return covers(shown, folder) }),
			"the map calls %s a part of the driver; etc/overlay does not", shown)
	}
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	all := append(foldersIn(driver), foldersIn(rest)...)
	for _, entry := range entries {
		name := entry.Name()
		if !entry.IsDir() || strings.HasPrefix(name, ".") || name == "build" {
			continue
		}
		require.True(t, slices.ContainsFunc(all, func(shown string) bool { return covers(shown, name) }), "the map lacks %s", name)
	}
	internals, err := os.ReadDir(filepath.Join(root, "internal"))
	require.NoError(t, err)
	for _, entry := range internals {
		path := "internal/" + entry.Name()
		require.True(t, slices.ContainsFunc(overlay, func(folder string) bool { return folder == path }),
			"%s is not of the overlay; tools are below tools/", path)
	}
}

// The README's table of versions is the one place in the documents that names the newest base.
func TestReadmeNamesTheBases(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	bases, err := (&fork.Project{Root: root}).Bases()
	require.NoError(t, err)
	for _, base := range bases {
		require.Regexp(t, `(?m)^\|[^|]* `+regexp.QuoteMeta(base)+` \| `+regexp.QuoteMeta(base)+` \|`, string(readme))
	}
}

var folderInTable = regexp.MustCompile("`([a-z/]+)/`")

// foldersIn returns the folders that the first column of a table of the map names.
func foldersIn(part string) []string {
	var folders []string
	for _, line := range strings.Split(part, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			continue
		}
		for _, match := range folderInTable.FindAllStringSubmatch(cells[1], -1) {
			folders = append(folders, match[1])
		}
	}
	return folders
}
