package syntax

import (
	"go/ast"
	"go/build/constraint"
	"strings"
)

// fileConstraint returns the condition under which a file is compiled: its //go:build line, and whether it is a test. What the name
// says of systems is left to the compiler.
func fileConstraint(base string, file *ast.File) (string, error) {
	var terms []string
	if strings.HasSuffix(base, "_test.go") {
		terms = []string{"test"}
	}
	for _, group := range file.Comments {
		if group.Pos() > file.Package {
			break
		}
		for _, c := range group.List {
			if !constraint.IsGoBuild(c.Text) {
				continue
			}
			expr, err := constraint.Parse(c.Text)
			if err != nil {
				return "", err
			}
			terms = append(terms, expr.String())
		}
	}
	return strings.Join(terms, " && "), nil
}
