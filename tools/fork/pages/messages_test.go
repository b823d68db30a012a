package pages

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/command"
	"mongofork/tools/fork/plan"
)

// TestTroubleshootingHasEveryMessage finds each text in the overlay that can be in an error or in the log, which is each string of two
// words or more, and looks for the longest part of it that is always the same.
func TestTroubleshootingHasEveryMessage(t *testing.T) {
	t.Parallel()
	pages := strings.Join(strings.Fields(text(t, "docs/troubleshooting.md")+text(t, "docs/troubleshooting/messages.md")), " ")
	layers, err := plan.ReadLayers(root)
	require.NoError(t, err)
	seen := 0
	for _, layer := range layers {
		for _, folder := range layer.Folders {
			listed, err := command.Output(t.Context(), root, nil, "git", "ls-files", "--cached", "--others", "--exclude-standard", "--", folder)
			require.NoError(t, err)
			for _, name := range strings.Fields(string(listed)) {
				if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "internal/scripted/") ||
					strings.HasPrefix(name, "internal/integration/") {
					continue
				}
				for _, message := range messages(t, filepath.Join(root, name)) {
					seen++
					if fixed := fixedPart(message); fixed != "" && !strings.Contains(pages, fixed) {
						t.Errorf("%s: docs/troubleshooting/messages.md does not say what to do about %q", name, fixed)
					}
				}
			}
		}
	}
	require.Greater(t, seen, 40, "the test no longer finds messages")
}

// messages are a file's strings, without those that it compares with, or takes off.
func messages(t *testing.T, name string) (found []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	if err != nil {
		return nil // it has been deleted
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec, *ast.StructType:
			return false
		case *ast.BinaryExpr:
			return n.Op != token.EQL && n.Op != token.NEQ
		case *ast.CallExpr:
			called, ok := n.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			of, ok := called.X.(*ast.Ident)
			return !ok || of.Name != "strings"
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				value, err := strconv.Unquote(n.Value)
				require.NoError(t, err)
				found = append(found, value)
			}
		}
		return true
	})
	return found
}

var changing = regexp.MustCompile(`%[-+#.\d]*[a-zA-Z]|%%|"`)

// fixedPart returns the longest part of a message without a figure, a name or a quotation mark. One of less than two words says nothing.
func fixedPart(message string) (longest string) {
	for _, part := range changing.Split(message, -1) {
		if part = strings.Trim(strings.Join(strings.Fields(part), " "), " :(),"); len(part) > len(longest) {
			longest = part
		}
	}
	if !strings.Contains(longest, " ") {
		return ""
	}
	return longest
}
