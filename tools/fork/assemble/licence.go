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
