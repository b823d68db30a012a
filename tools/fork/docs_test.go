package fork

import (
	"go/ast"
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

	"mongofork/tools/fork/plan"
)

var verb = regexp.MustCompile(`%[a-z]`)

// docs/builder.md lists every message that can stop a build, with "…" for
// what varies, so that a search for the message finds its cure.
func TestDocsListEveryMessage(t *testing.T) {
	t.Parallel()
	docs, err := os.ReadFile(filepath.Join("..", "..", "docs", "builder.md"))
	require.NoError(t, err)
	messages := problemMessages(t)
	require.Greater(t, len(messages), 50)
	for _, message := range messages {
		if want := verb.ReplaceAllString(message, "…"); !strings.Contains(string(docs), "`"+want+"`") {
			t.Errorf("docs/builder.md lacks: `%s`", want)
		}
	}
}

// problemMessages finds the formats of all problems and errors in the sources.
func problemMessages(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	below, err := filepath.Glob("*/*.go")
	require.NoError(t, err)
	names = append(names, below...)
	var messages []string
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if m := messageOf(call); strings.Count(verb.ReplaceAllString(m, ""), "") > 6 {
					messages = append(messages, m)
				}
			}
			return true
		})
	}
	return messages
}

// messageOf returns the format among the arguments of a call that reports
// something: it follows the cure where there is one.
func messageOf(call *ast.CallExpr) string {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	var literals []string
	for _, arg := range call.Args {
		lit, ok := arg.(*ast.BasicLit)
		if ok && lit.Kind == token.STRING {
			text, _ := strconv.Unquote(lit.Value)
			literals = append(literals, text)
		}
	}
	if len(literals) == 0 {
		return ""
	}
	switch sel.Sel.Name {
	case "Add", "fail", "problem":
		return literals[len(literals)-1]
	case "Errorf":
		return literals[0]
	case "New":
		if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "errors" {
			return literals[0]
		}
	}
	return ""
}

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
		require.True(t, slices.ContainsFunc(foldersIn(driver), func(shown string) bool { return covers(shown, folder.Path) }),
			"the map of the driver lacks %s of etc/overlay", folder.Path)
	}
	for _, shown := range append(foldersIn(driver), foldersIn(rest)...) {
		require.DirExists(t, filepath.Join(repositoryRoot, shown), "the map shows it")
	}
	for _, shown := range foldersIn(driver) {
		require.True(t, slices.ContainsFunc(overlay, func(folder plan.Folder) bool { return covers(shown, folder.Path) }),
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
		require.True(t, slices.ContainsFunc(overlay, func(folder plan.Folder) bool { return folder.Path == path }),
			"%s is not of the overlay; tools are below tools/", path)
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
