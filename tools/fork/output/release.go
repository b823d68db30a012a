package output

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	"golang.org/x/mod/zip"

	"mongofork/tools/fork/advisory"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/upstream"
)

// Release is a version of the fork in a folder that serves as a GOPROXY.
type Release struct {
	Path, Version string
	// Sum is the hash that go.sum will have.
	Sum string
	// Files are the files that belong to the version and its adapters, relative to the folder.
	Files []string
}

// Fork is what a release is made of.
type Fork struct {
	// Root is the repository's folder, which holds the adapters.
	Root string
	Plan *plan.Plan
	// Tree is the output of a build.
	Tree filetree.Tree
	// Advisories are those that the SBOM lists.
	Advisories advisory.List
}

// Release writes the fork into dir, and the adapters with it, in the layout of the module proxy protocol, with SBOMs, the lines for
// go.sum and SHA256SUMS beside it. A version that is there with another content is a problem: the checksum database and users' go.sum
// never forget a version.
func (f Fork) Release(dir string) (*Release, error) {
	version, err := ReleaseVersion(f.Plan)
	if err != nil {
		return nil, err
	}
	adapters, err := adaptersIn(f.Root, level(f.Plan.Module.Version, version))
	if err != nil {
		return nil, err
	}
	r := &Release{Path: f.Plan.Module.Path, Version: version}
	all, indexes := filetree.Tree{}, map[string][]string{}
	for i, m := range append([]adapter{{module.Version{Path: r.Path, Version: version}, f.Tree}}, adapters...) {
		files, err := f.files(m, i == 0)
		if err != nil {
			return nil, err
		}
		sum, goModSum, err := upstream.Sums(m.Path, m.Version.Version, m.tree)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			r.Sum = sum
		}
		maps.Copy(all, files)
		indexes["go.sum"] = append(indexes["go.sum"], m.Path+" "+m.Version.Version+" "+sum, m.Path+" "+m.Version.Version+"/go.mod "+goModSum)
		indexes[path.Join(path.Dir(files.Paths()[0]), "list")] = []string{m.Version.Version}
		r.Files = append(r.Files, files.Paths()...)
	}
	if err := released(dir, all); err != nil {
		return nil, err
	}
	for name, data := range all {
		indexes["SHA256SUMS"] = append(indexes["SHA256SUMS"], filetree.Digest(data)+"  "+name)
	}
	for name, lines := range indexes {
		if all[name], err = merged(filepath.Join(dir, filepath.FromSlash(name)), lines); err != nil {
			return nil, err
		}
	}
	for _, name := range all.Paths() {
		if err := filetree.Replace(filepath.Join(dir, filepath.FromSlash(name)), all[name]); err != nil {
			return nil, fmt.Errorf("the release cannot be written: %w", err)
		}
	}
	return r, nil
}

// files returns the files of one version as the proxy protocol wants them, and its SBOM. The .info has no time, so that the same
// sources give the same files.
func (f Fork) files(m adapter, isFork bool) (filetree.Tree, error) {
	if err := module.Check(m.Path, m.Version.Version); err != nil {
		return nil, err
	}
	escaped, err := module.EscapePath(m.Path)
	if err != nil {
		return nil, err
	}
	escapedVersion, err := module.EscapeVersion(m.Version.Version)
	if err != nil {
		return nil, err
	}
	var members []zip.File
	for _, p := range m.tree.Paths() {
		members = append(members, zipMember{p, m.tree[p]})
	}
	var archive bytes.Buffer
	if err := zip.Create(&archive, m.Version, members); err != nil {
		return nil, err
	}
	bom, err := newSBOM(m.Version, m.tree["go.mod"], archive.Bytes())
	if err != nil {
		return nil, err
	}
	if isFork {
		bom.forkOf(module.Version{Path: f.Plan.Module.Path, Version: f.Plan.Module.Version}, f.Advisories)
	}
	text, err := bom.encode()
	base := path.Join(escaped, "@v", escapedVersion)
	return filetree.Tree{
		base + ".cdx.json": text,
		base + ".info":     fmt.Appendf(nil, "{%q:%q}\n", "Version", m.Version.Version),
		base + ".mod":      m.tree["go.mod"],
		base + ".zip":      archive.Bytes(),
	}, err
}

// released reports files of the version that exist with another content.
func released(dir string, files filetree.Tree) error {
	var ps problem.List
	for _, name := range files.Paths() {
		have, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil && !bytes.Equal(have, files[name]) {
			ps.Add(path.Join(filepath.ToSlash(dir), name), 0, "raise Fork in version/fork.go, then make lock", "this version was released with different content")
		}
	}
	return ps.OrNil()
}

// merged returns an index, one line for each version or file, with these lines added: it may have those of other releases.
func merged(index string, lines []string) ([]byte, error) {
	old, err := os.ReadFile(index)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	about := map[string]string{} // the line by what it is about, which is all but its hash
	for _, line := range append(strings.FieldsFunc(string(old), func(r rune) bool { return r == '\n' }), lines...) {
		sum, name, isSum := strings.Cut(line, "  ")
		if !isSum {
			name, _, _ = strings.Cut(line, " h1:")
		} else if len(sum) != len(filetree.Digest(nil)) {
			continue
		}
		about[name] = line
	}
	names := slices.SortedFunc(maps.Keys(about), func(a, b string) int {
		if semver.IsValid(a) && semver.IsValid(b) {
			return semver.Compare(a, b)
		}
		return strings.Compare(a, b)
	})
	var b bytes.Buffer
	for _, name := range names {
		b.WriteString(about[name] + "\n")
	}
	return b.Bytes(), nil
}
