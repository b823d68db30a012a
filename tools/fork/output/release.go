package output

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"mongofork/tools/fork/advisory"
	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/filetree"
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

// WriteRelease adds a fork and the adapters of the repository in root to a folder in the layout of the module proxy protocol, with an SBOM
// and a VEX document, the lines for go.sum, and SHA256SUMS. A version that ReleasedFile or the folder has with another content is a
// problem. A final one is recorded in ReleasedFile, so that nothing else is ever released under its name.
func WriteRelease(root string, f Fork, advisories advisory.List, dir string, final bool) (*Release, error) {
	if f.Level == "" {
		return nil, ErrUnnamed
	}
	modules, err := adaptersIn(root, f.Level)
	if err != nil {
		return nil, err
	}
	r := &Release{Path: f.Plan.Module.Path, Version: f.Version()}
	modules = append([]adapter{{module.Version{Path: r.Path, Version: r.Version}, assemble.Headed(f.Plan.Module.Tree, f.Tree)}},
		modules...)
	all, goSum := filetree.Tree{}, ""
	for _, m := range modules {
		files, err := proxyFiles(m)
		if err != nil {
			return nil, err
		}
		sum, goModSum, err := upstream.Sums(m.Path, m.Version.Version, m.tree)
		if err != nil {
			return nil, err
		}
		if r.Sum == "" {
			r.Sum = sum
		}
		maps.Copy(all, files)
		goSum += fmt.Sprintf("%[1]s %[2]s %[3]s\n%[1]s %[2]s/go.mod %[4]s\n", m.Path, m.Version.Version, sum, goModSum)
	}
	documents, err := documents(f, advisories, modules, goSum)
	if err != nil {
		return nil, err
	}
	for name, data := range documents {
		all[path.Join(r.Path, "@v", name)] = data
	}
	r.Files = all.Paths()
	released, err := withReleased(root, goSum)
	if err != nil {
		return nil, err
	}
	if err := publish(dir, all, goSum); err != nil || !final {
		return r, err
	}
	return r, filetree.Replace(filepath.Join(root, filepath.FromSlash(ReleasedFile)), released)
}

// proxyFiles returns the files of one version as the proxy protocol wants them. The .info has no time, so that the same sources give
// the same files.
func proxyFiles(m adapter) (filetree.Tree, error) {
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
	dir, err := os.MkdirTemp("", "mongofork-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := m.tree.Write(dir); err != nil {
		return nil, err
	}
	var archive bytes.Buffer
	err = zip.CreateFromDir(&archive, m.Version, dir)
	base := path.Join(escaped, "@v", escapedVersion)
	return filetree.Tree{
		base + ".info": fmt.Appendf(nil, "{%q:%q}\n", "Version", m.Version.Version),
		base + ".mod":  m.tree["go.mod"],
		base + ".zip":  archive.Bytes(),
	}, err
}
