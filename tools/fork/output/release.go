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
	// Sum and GoModSum are the hashes that go.sum will have.
	Sum, GoModSum string
	// Files are the files that belong to the version, relative to the folder.
	Files []string
}

// Fork is what a release is made of.
type Fork struct {
	// Root is the repository's folder, which holds the adapters.
	Root string
	Plan *plan.Plan
	// Tree is the output of a build.
	Tree filetree.Tree
	// Advisories are those that the SBOM tells of.
	Advisories advisory.List
}

// Release writes the fork as module version into dir, and the adapters with it, in the layout of the
// module proxy protocol, with SBOMs, the lines for go.sum and SHA256SUMS beside it. A
// version that is there with another content is a problem: the checksum
// database and users' go.sum never forget a version.
func (f Fork) Release(dir, version string) (*Release, error) {
	base := f.Plan.Module.Version
	if want := ownVersion(f.Plan); want != "" && version != want {
		return nil, problem.List{{File: patchLevel.Package, Message: fmt.Sprintf("the fork calls itself %s, not %s", want, version),
			Mend: "leave --version out, or change the constant " + patchLevel.Name + " and go run ./tools/cmd/mongofork accept on every base"}}
	}
	modules := []adapter{{module.Version{Path: f.Plan.Module.Path, Version: version}, f.Tree}}
	adapters, err := adaptersIn(f.Root, level(base, version))
	if err != nil {
		return nil, err
	}
	r, all, err := f.release(dir, append(modules, adapters...))
	if err != nil {
		return nil, err
	}
	for _, name := range all.Paths() {
		if err := filetree.Replace(filepath.Join(dir, filepath.FromSlash(name)), all[name]); err != nil {
			return nil, fmt.Errorf("the release cannot be written: %w", err)
		}
	}
	return r, nil
}

// release returns the files of a release of these modules, the fork first.
func (f Fork) release(dir string, modules []adapter) (*Release, filetree.Tree, error) {
	r := &Release{Path: modules[0].Path, Version: modules[0].Version.Version}
	all, goSum := filetree.Tree{}, []byte(nil)
	lists := map[string]string{}
	for i, m := range modules {
		var of *module.Version
		if i == 0 {
			of = &module.Version{Path: f.Plan.Module.Path, Version: f.Plan.Module.Version}
		}
		files, err := releaseFiles(m.Version, m.tree, of, f.Advisories)
		if err != nil {
			return nil, nil, err
		}
		sum, goModSum, err := upstream.Sums(m.Path, m.Version.Version, m.tree)
		if err != nil {
			return nil, nil, err
		}
		if i == 0 {
			r.Sum, r.GoModSum = sum, goModSum
		}
		goSum = fmt.Appendf(goSum, "%s %s %s\n%[1]s %[2]s/go.mod %[4]s\n", m.Path, m.Version.Version, sum, goModSum)
		lists[path.Dir(files.Paths()[0])] = m.Version.Version
		maps.Copy(all, files)
		r.Files = append(r.Files, files.Paths()...)
	}
	if err := released(dir, all); err != nil {
		return nil, nil, err
	}
	if err := addIndex(dir, lists, all); err != nil {
		return nil, nil, err
	}
	all["go.sum"] = goSum
	return r, all, nil
}

// releaseFiles returns the files of one version as the proxy protocol wants
// them, and its SBOM. The .info has no time, so that the same sources give the
// same files.
func releaseFiles(v module.Version, t filetree.Tree, of *module.Version, advisories advisory.List) (filetree.Tree, error) {
	if err := module.Check(v.Path, v.Version); err != nil {
		return nil, err
	}
	escaped, err := module.EscapePath(v.Path)
	if err != nil {
		return nil, err
	}
	escapedVersion, err := module.EscapeVersion(v.Version)
	if err != nil {
		return nil, err
	}
	var archive bytes.Buffer
	members := make([]zip.File, 0, len(t))
	for _, p := range t.Paths() {
		members = append(members, zipMember{p, t[p]})
	}
	if err := zip.Create(&archive, v, members); err != nil {
		return nil, err
	}
	bom, err := sbom(v, t["go.mod"], archive.Bytes(), of, advisories)
	if err != nil {
		return nil, err
	}
	base := path.Join(escaped, "@v", escapedVersion)
	return filetree.Tree{
		base + ".cdx.json": bom,
		base + ".info":     fmt.Appendf(nil, "{%q:%q}\n", "Version", v.Version),
		base + ".mod":      t["go.mod"],
		base + ".zip":      archive.Bytes(),
	}, nil
}

// released reports files of the version that exist with another content.
func released(dir string, files filetree.Tree) error {
	var ps problem.List
	for _, name := range files.Paths() {
		have, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if !bytes.Equal(have, files[name]) {
			ps.Add(path.Join(filepath.ToSlash(dir), name), 0, "raise Fork in version/fork.go, then make lock", "this version was released with different content")
		}
	}
	return ps.OrNil()
}

// addIndex adds the lists of versions, each a folder and the version that is new there, and SHA256SUMS for all of them.
func addIndex(dir string, lists map[string]string, files filetree.Tree) error {
	for folder, version := range lists {
		old, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(folder), "list"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		versions := append(strings.Fields(string(old)), version)
		semver.Sort(versions)
		lists[folder] = strings.Join(slices.Compact(versions), "\n") + "\n"
	}
	sums := Manifest{}
	old, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for line := range strings.Lines(string(old)) {
		if sum, name, ok := strings.Cut(strings.TrimSpace(line), "  "); ok {
			sums[name] = sum
		}
	}
	for name, data := range files {
		sums[name] = filetree.Digest(data)
	}
	for folder, list := range lists {
		files[path.Join(folder, "list")] = []byte(list)
	}
	files["SHA256SUMS"] = sums.Format()
	return nil
}
