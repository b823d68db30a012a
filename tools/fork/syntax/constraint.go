package syntax

import (
	"go/ast"
	"go/build/constraint"
	"strings"
)

// The operating systems and architectures that the go command recognises at
// the end of a file's name; go/build keeps its own lists private.
const (
	knownOS   = " aix android darwin dragonfly freebsd hurd illumos ios js linux nacl netbsd openbsd plan9 solaris wasip1 windows zos "
	knownArch = " 386 amd64 amd64p32 arm armbe arm64 arm64be loong64 mips mipsle mips64 mips64le mips64p32 mips64p32le ppc ppc64 ppc64le riscv riscv64 s390 s390x sparc sparc64 wasm "
)

// fileConstraint returns the condition under which a file is compiled: from
// its //go:build line and its name, whether it is a test included.
func fileConstraint(base string, file *ast.File) (string, error) {
	terms := nameTags(base)
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

// nameTags returns the tags that a file's name implies, such as "linux" and
// "test" for x_linux_test.go.
func nameTags(base string) []string {
	var tags []string
	stem := strings.TrimSuffix(base, ".go")
	if rest, ok := strings.CutSuffix(stem, "_test"); ok {
		stem, tags = rest, append(tags, "test")
	}
	parts := strings.Split(stem, "_")[1:]
	known := func(list string, i int) bool {
		return i >= 0 && strings.Contains(list, " "+parts[i]+" ")
	}
	last := len(parts) - 1
	switch {
	case known(knownArch, last) && known(knownOS, last-1):
		tags = append(tags, parts[last-1], parts[last])
	case known(knownArch, last), known(knownOS, last):
		tags = append(tags, parts[last])
	}
	return tags
}
