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
	_, after, _ := strings.Cut(string(readme), "## Where things are")
	table, rest, found := strings.Cut(after, "**What builds and tests it.**")
	require.True(t, found, "the map has no second table")
	layers, err := plan.ReadLayers(root)
	require.NoError(t, err)
	var overlay []string
	for _, layer := range layers {
		for _, folder := range layer.Folders {
			if layer.Below || path.Ext(folder) != "" {
				folder = path.Dir(folder)
			}
			overlay = append(overlay, folder)
		}
	}
	driver, all := foldersIn(table), append(foldersIn(table), foldersIn(rest)...)
	for _, shown := range all {
		require.DirExists(t, filepath.Join(root, shown), "the map shows it")
	}
	requireAll(t, driver, overlay, "the map of the driver lacks %s of etc/overlay")
	requireAll(t, overlay, driver, "the map calls %s a part of the driver; etc/overlay does not")
	requireAll(t, all, foldersOf(t, ""), "the map lacks %s")
	requireAll(t, overlay, foldersOf(t, "internal"), "%s is not of the overlay; tools are below tools/")
}

// requireAll checks that each folder is, contains, or is contained in one of the others.
func requireAll(t *testing.T, others, folders []string, message string) {
	t.Helper()
	for _, folder := range folders {
		require.True(t, slices.ContainsFunc(others, func(other string) bool {
			return strings.HasPrefix(folder+"/", other+"/") || strings.HasPrefix(other+"/", folder+"/")
		}), message, folder)
	}
}

// foldersOf returns the folders in a folder of the repository, without the built ones.
func foldersOf(t *testing.T, dir string) (folders []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(root, dir))
	require.NoError(t, err)
	for _, entry := range entries {
		if name := entry.Name(); entry.IsDir() && !strings.HasPrefix(name, ".") && name != "build" {
			folders = append(folders, path.Join(dir, name))
		}
	}
	return folders
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
func foldersIn(part string) (folders []string) {
	for line := range strings.Lines(part) {
		first, _, _ := strings.Cut(strings.TrimPrefix(line, "|"), "|")
		for _, folder := range folderInTable.FindAllStringSubmatch(first, -1) {
			folders = append(folders, folder[1])
		}
	}
	return folders
}
