package fork

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMapShowsEveryFolder holds the README's map, etc/overlay and the folders together: the first table is the overlay, the
// second all the rest, and internal/ holds the overlay only.
func TestMapShowsEveryFolder(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join(repositoryRoot, "README.md"))
	require.NoError(t, err)
	_, after, found := strings.Cut(string(readme), "## Where things are")
	require.True(t, found, "README.md has no map")
	driver, rest, found := strings.Cut(after, "**What builds and tests it.**")
	require.True(t, found, "the map has no second table")

	overlay, err := (&Project{Root: repositoryRoot}).Folders()
	require.NoError(t, err)
	covers := func(shown, folder string) bool { return shown == folder || strings.HasPrefix(shown, folder+"/") }
	for _, folder := range overlay {
		require.True(t, slices.ContainsFunc(foldersIn(driver), func(shown string) bool { return covers(shown, folder) }),
			"the map of the driver lacks %s of etc/overlay", folder)
	}
	for _, shown := range append(foldersIn(driver), foldersIn(rest)...) {
		require.DirExists(t, filepath.Join(repositoryRoot, shown), "the map shows it")
	}
	for _, shown := range foldersIn(driver) {
		require.True(t, slices.ContainsFunc(overlay, func(folder string) bool { return covers(shown, folder) }),
			"the map calls %s a part of the driver; etc/overlay does not", shown)
	}
	entries, err := os.ReadDir(repositoryRoot)
	require.NoError(t, err)
	all := append(foldersIn(driver), foldersIn(rest)...)
	for _, entry := range entries {
		name := entry.Name()
		if !entry.IsDir() || strings.HasPrefix(name, ".") || name == "build" {
			continue
		}
		require.True(t, slices.ContainsFunc(all, func(shown string) bool { return covers(shown, name) }), "the map lacks %s", name)
	}
	internals, err := os.ReadDir(filepath.Join(repositoryRoot, "internal"))
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
	readme, err := os.ReadFile(filepath.Join(repositoryRoot, "README.md"))
	require.NoError(t, err)
	bases, err := (&Project{Root: repositoryRoot}).Bases()
	require.NoError(t, err)
	for _, base := range bases {
		require.Regexp(t, `(?m)^\|[^|]* `+regexp.QuoteMeta(base)+` \| `+regexp.QuoteMeta(base)+` \|`, string(readme))
	}
}

// TestPackagesAreInLayers holds the list in docs/builder.md, the folders and the imports together: each package is listed, and imports
// only those before it.
func TestPackagesAreInLayers(t *testing.T) {
	t.Parallel()
	docs, err := os.ReadFile(filepath.Join(repositoryRoot, "docs", "builder.md"))
	require.NoError(t, err)
	_, after, found := strings.Cut(string(docs), "\n## The packages\n")
	require.True(t, found, "docs/builder.md does not list the packages")
	section, _, _ := strings.Cut(after, "\n## ")
	above := map[string]bool{}
	for _, row := range packageInList.FindAllStringSubmatch(section, -1) {
		for _, imported := range importsBelow(t, row[1]) {
			require.True(t, above[imported], "%s imports %s, which is not before it in the list", row[1], imported)
		}
		above[row[1]] = true
	}
	names, err := filepath.Glob("*/*.go")
	require.NoError(t, err)
	for _, name := range names {
		if folder := filepath.Dir(name); folder != "forktest" {
			require.True(t, above[folder], "the list lacks %s", folder)
		}
	}
}

var packageInList = regexp.MustCompile("`([a-z]+)`")

// importsBelow returns the builder's packages that one of them imports, its tests apart.
func importsBelow(t *testing.T, folder string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	require.NoError(t, err)
	require.NotEmpty(t, names, "the list has %s", folder)
	var imports []string
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, spec := range file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			require.NoError(t, err)
			require.NotEqual(t, "mongofork/tools/fork", path, "%s imports the front", name)
			if below, ok := strings.CutPrefix(path, "mongofork/tools/fork/"); ok {
				imports = append(imports, below)
			}
		}
	}
	return imports
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
