package assemble

import (
	"bytes"
	"maps"
	"path"
	"slices"
	"strings"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/upstream"
)

// Licensed gives each Go file that upstream does not have the licence comment
// that upstream's files begin with there, as upstream asks of every file.
func Licensed(upstream, fork filetree.Tree) filetree.Tree {
	out := make(filetree.Tree, len(fork))
	for name, data := range fork {
		_, theirs := upstream[name]
		if !theirs && strings.HasSuffix(name, ".go") {
			if comment := licence(upstream, path.Dir(name)); comment != nil {
				data = slices.Concat(comment, []byte("\n\n"), data)
			}
		}
		out[name] = data
	}
	return out
}

// What leaves this repository says that it is not by MongoDB, Inc., as the Apache License 2.0, 4(b), asks of files that were changed.
const (
	changed = "// Changed in a fork of the MongoDB Go driver, which is not by MongoDB, Inc.\n"
	ours    = "// Part of a fork of the MongoDB Go driver, and not by MongoDB, Inc.\n// Licensed under the Apache License, Version " +
		"2.0; see LICENSE.\n\n"
)

// Noticed says in each of upstream's Go files that the fork has changed, after the licence, that it was.
func Noticed(upstream, fork filetree.Tree) filetree.Tree {
	out := maps.Clone(fork)
	for name, data := range fork {
		was, theirs := upstream[name]
		if !theirs || !strings.HasSuffix(name, ".go") || bytes.Equal(was, data) {
			continue
		}
		first, rest, _ := bytes.Cut(data, []byte("\n\n"))
		if isLicence(first) {
			out[name] = slices.Concat(first, []byte("\n//\n"+changed+"\n"), rest)
		} else {
			out[name] = slices.Concat([]byte(changed+"\n"), data)
		}
	}
	return out
}

// Headed gives each Go file that upstream does not have a comment of ours on top.
func Headed(upstream, fork filetree.Tree) filetree.Tree {
	out := maps.Clone(fork)
	for name, data := range fork {
		if _, theirs := upstream[name]; !theirs && strings.HasSuffix(name, ".go") {
			out[name] = slices.Concat([]byte(ours), data)
		}
	}
	return out
}

// licence returns the licence comment of the first file, in the order of names,
// that has one: in the folder, else in the nearest folder above or below that.
func licence(upstream filetree.Tree, folder string) []byte {
	names := upstream.Paths()
	for ; ; folder = path.Dir(folder) {
		for _, name := range names {
			inside := folder == "." || path.Dir(name) == folder || strings.HasPrefix(name, folder+"/")
			if !inside || !strings.HasSuffix(name, ".go") {
				continue
			}
			if first, _, _ := bytes.Cut(upstream[name], []byte("\n\n")); isLicence(first) {
				return first
			}
		}
		if folder == "." {
			return nil
		}
	}
}

// isLicence reports whether a text is nothing but line comments that name a
// copyright.
func isLicence(text []byte) bool {
	for _, line := range bytes.Split(text, []byte("\n")) {
		if !bytes.HasPrefix(line, []byte("//")) {
			return false
		}
	}
	return bytes.Contains(text, []byte("Copyright"))
}

// Pristine returns the module as it is, without its workspace files: they name modules that are not in the module zip, and every go
// command in the output would fail on them.
func Pristine(m *upstream.Module) filetree.Tree {
	tree := maps.Clone(m.Tree)
	delete(tree, "go.work")
	delete(tree, "go.work.sum")
	return tree
}
