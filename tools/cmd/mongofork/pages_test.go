package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	code    = regexp.MustCompile("(?m)`[^`\n]+`|^ {4,}.*$|^ *- run: .*$")
	builder = regexp.MustCompile("(?:/cmd/|[`( ])mongofork ([^`#&|;)\"]+)")
	output  = regexp.MustCompile(`\$\([^)]*\)`)
	target  = regexp.MustCompile(`\bmake ((?:-\S+ |[A-Z]+=\S+ )*)([a-z][a-z-]*)`)
)

// Each command of the builder that a page names has the form that the builder expects, and each target of make is in the Makefile.
func TestPagesNameCommandsThatExist(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	require.NoError(t, err)
	var pages []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "tools/fork/README.md", "etc/server/README.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		pages = append(pages, found...)
	}
	commands, targets := 0, 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, line := range code.FindAllString(string(text), -1) {
			line = output.ReplaceAllString(line, defaultBase)
			for _, m := range builder.FindAllStringSubmatch(line, -1) {
				args := slices.DeleteFunc(strings.Fields(m[1]), func(word string) bool { return word == "…" || word == "COMMAND" })
				if len(args) == 0 || strings.Contains(m[1], "stands for") {
					continue
				}
				commands++
				assert.NoError(t, parses(args), "%s: %s", page, line)
			}
			for _, m := range target.FindAllStringSubmatch(line, -1) {
				targets++
				assert.Regexp(t, `(?m)^(\.PHONY: .*|[a-z- ]*)\b`+regexp.QuoteMeta(m[2])+`\b`, string(makefile), "%s: %s", page, line)
			}
		}
	}
	require.Greater(t, commands, 15)
	require.Greater(t, targets, 25)
}

// parses says what is wrong with a command line, of which a page may leave out the argument.
func parses(args []string) error {
	var c cli
	parser := kong.Must(&c, kong.Vars{"base": defaultBase}, kong.Exit(func(int) {}), kong.Writers(io.Discard, io.Discard))
	_, err := parser.Parse(args)
	if err != nil && strings.Contains(err.Error(), "expected \"<") {
		return nil
	}
	return err
}
