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

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

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

// WriteRelease makes a plan's fork, as it was built, and the adapters of the repository in root the content of dir, in the layout of the
// module proxy protocol, with the lines for go.sum and SHA256SUMS. A version that ReleasedFile has with another content is a problem.
// It then records this one, if it is final.
func WriteRelease(root string, plan *plan.Plan, built filetree.Tree, dir string, final bool) (*Release, error) {
	version, err := ReleaseVersion(plan)
	if err != nil {
		return nil, err
	}
	modules, err := adaptersIn(root, level(plan.Module.Version, version))
	if err != nil {
		return nil, err
	}
	r := &Release{Path: plan.Module.Path, Version: version}
	modules = append([]adapter{{module.Version{Path: r.Path, Version: version}, built}}, modules...)
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
		r.Files = append(r.Files, files.Paths()...)
	}
	all["SHA256SUMS"], all["go.sum"] = []byte(manifest(all)), []byte(goSum)
	released, err := withReleased(root, goSum)
	if err != nil {
		return nil, err
	}
	if err := replaceRelease(dir, all); err != nil || !final {
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
		path.Join(escaped, "@v", "list"): []byte(m.Version.Version + "\n"),
		base + ".info":                   fmt.Appendf(nil, "{%q:%q}\n", "Version", m.Version.Version),
		base + ".mod":                    m.tree["go.mod"],
		base + ".zip":                    archive.Bytes(),
	}, err
}

// replaceRelease makes the files the content of a folder, unless that has something else than a release.
func replaceRelease(dir string, files filetree.Tree) error {
	have, err := filetree.Read(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(have) > 0 && have["SHA256SUMS"] == nil {
		return problem.List{{File: filepath.ToSlash(dir), Message: "the folder has something else than a release", Mend: "choose another folder with -o"}}
	}
	return errors.Join(os.RemoveAll(dir), files.Write(dir))
}
