package fork

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
	case "add", "fail":
		return literals[len(literals)-1]
	case "Errorf", "New":
		return literals[0]
	}
	return ""
}
