package assemble

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	gofumpt "mvdan.cc/gofumpt/format"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/syntax"
	"mongofork/tools/fork/upstream"
)

// Files that leave this repository say that they are not by MongoDB, Inc., as the Apache License 2.0, 4(b), requires of changed files.
const (
	changed = "// Changed in a fork of the MongoDB Go driver, which is not by MongoDB, Inc.\n"
	ours    = "// Part of a fork of the MongoDB Go driver, and not by MongoDB, Inc.\n// Licensed under the Apache License, Version " +
		"2.0; see LICENSE.\n\n"
)

// Noticed adds, below the licence of each of upstream's Go files that the fork changes, a notice that it was changed.
func Noticed(upstream, fork filetree.Tree) filetree.Tree {
	out := maps.Clone(fork)
	for name, data := range fork {
		was, theirs := upstream[name]
		if !theirs || !strings.HasSuffix(name, ".go") || bytes.Equal(was, data) {
			continue
		}
		out[name] = slices.Concat([]byte(changed+"\n"), data)
		if comment := licence(data); comment != nil {
			out[name] = slices.Concat(comment, []byte("\n//\n"+changed), data[len(comment)+1:])
		}
	}
	return out
}

// Headed gives each Go file that upstream does not have a comment of ours on top.
func Headed(upstream, fork filetree.Tree) filetree.Tree {
	return added(upstream, fork, func(string) []byte { return []byte(ours) })
}

// Licensed adds upstream's licence comment to each Go file that upstream does not have, because upstream requires one in every file. It
// takes the comment of the first file that has one, in the same folder or else in the nearest folder above or below.
func Licensed(upstream, fork filetree.Tree) filetree.Tree {
	names := upstream.Paths()
	return added(upstream, fork, func(folder string) []byte {
		for ; ; folder = path.Dir(folder) {
			for _, name := range names {
				if folder != "." && !strings.HasPrefix(name, folder+"/") || !strings.HasSuffix(name, ".go") {
					continue
				}
				if comment := licence(upstream[name]); comment != nil {
					return append(bytes.Clone(comment), "\n\n"...)
				}
			}
			if folder == "." {
				return nil
			}
		}
	})
}

// added puts a comment, by folder, on top of the Go files that upstream does not have.
func added(upstream, fork filetree.Tree, comment func(folder string) []byte) filetree.Tree {
	out := maps.Clone(fork)
	for name, data := range fork {
		if _, theirs := upstream[name]; !theirs && strings.HasSuffix(name, ".go") {
			out[name] = slices.Concat(comment(path.Dir(name)), data)
		}
	}
	return out
}

// licence returns the line comments that a file begins with if they name a copyright, and an empty line follows.
func licence(file []byte) []byte {
	first, _, found := bytes.Cut(file, []byte("\n\n"))
	for line := range bytes.Lines(first) {
		found = found && bytes.HasPrefix(line, []byte("//"))
	}
	if !found || !bytes.Contains(first, []byte("Copyright")) {
		return nil
	}
	return first
}

// Format formats the Go files of a tree that are not the module's as upstream formats its own. It does so once for each text.
func Format(m *upstream.Module, t filetree.Tree, formatted map[string][]byte) error {
	for name, data := range t {
		if bytes.Equal(data, m.Tree[name]) || !syntax.IsGoFile(name) {
			continue
		}
		if _, done := formatted[string(data)]; !done {
			text, err := gofumpt.Source(data, gofumpt.Options{ModulePath: m.Path, LangVersion: "go1.19"})
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			formatted[string(data)] = text
		}
		t[name] = formatted[string(data)]
	}
	return nil
}
