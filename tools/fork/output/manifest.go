package output

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"mongofork/tools/fork/filetree"
)

// Manifest holds the SHA-256 of each file of a built tree. It is what tells an
// edit of the output from what the builder wrote there.
type Manifest map[string]string

// manifestOf returns the tree's manifest.
func manifestOf(t filetree.Tree) Manifest {
	m := make(Manifest, len(t))
	for p, data := range t {
		m[p] = filetree.Digest(data)
	}
	return m
}

// readManifest reads a manifest; ok is false if there is none.
func readManifest(name string) (m Manifest, ok bool, err error) {
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	m = Manifest{}
	scan := bufio.NewScanner(bytes.NewReader(data))
	for scan.Scan() {
		sum, file, ok := strings.Cut(scan.Text(), "  ")
		if !ok || len(sum) != len(filetree.Digest(nil)) || !fs.ValidPath(file) {
			return nil, false, fmt.Errorf("%s is damaged: unexpected line %q (move it away together with its folder, then build again)", name, scan.Text())
		}
		m[file] = sum
	}
	return m, true, scan.Err()
}

// Format returns the manifest in the format of sha256sum, so that
// "sha256sum -c" run in the output folder checks it.
func (m Manifest) Format() []byte {
	var b bytes.Buffer
	for _, p := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(&b, "%s  %s\n", m[p], p)
	}
	return b.Bytes()
}

// Change says how a file of the output differs from its manifest.
type Change string

// The ways in which an output file can differ.
const (
	Edited  Change = "edited"
	Deleted Change = "deleted"
	Foreign Change = "foreign"
)

// changes compares a tree with the manifest that was written with it.
func (m Manifest) changes(t filetree.Tree) map[string]Change {
	out := map[string]Change{}
	for p, sum := range m {
		data, ok := t[p]
		switch {
		case !ok:
			out[p] = Deleted
		case filetree.Digest(data) != sum:
			out[p] = Edited
		}
	}
	for p := range t {
		if _, ours := m[p]; !ours {
			out[p] = Foreign
		}
	}
	return out
}
