package fork

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"

	"mongofork/tools/fork/filetree"
)

// sumsFile names all files of a release with their SHA-256.
const sumsFile = "SHA256SUMS"

// Sums returns the lines that an application's go.sum may contain for a release of the fork and of its adapters, and where these lines come
// from: ReleasedFile, or what this working copy builds.
func (p *Project) Sums(ctx context.Context, version string) (goSum, from string, err error) {
	base, level, _ := strings.Cut(version, "-")
	data, err := os.ReadFile(p.file(ReleasedFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", "", err
	}
	for line := range strings.Lines(string(data)) {
		if words := strings.Fields(line); len(words) == 3 &&
			slices.Contains([]string{version, "v0.0.0-" + level}, strings.TrimSuffix(words[1], "/go.mod")) {
			goSum += line
		}
	}
	if strings.Contains("\n"+goSum, "\n"+p.Module+" "+version+" ") {
		return goSum, ReleasedFile, nil
	}
	r, err := p.On(base).Release(ctx, "")
	if err != nil {
		return "", "", err
	}
	if built := r.Fork.Module().Version; built != version {
		return "", "", fmt.Errorf("the hash of %s is not known here: %s does not have it, and this working copy makes %s; "+
			"check out the commit that it was made from", version, ReleasedFile, built)
	}
	return string(r.Files["go.sum"]), "this working copy", nil
}

// Verify compares a downloaded release with its SHA256SUMS and with what Sums returns. The release is a folder that serves as a GOPROXY, or
// one with the published files. If this working copy builds that release, it also compares all documents. It returns what was verified.
func (p *Project) Verify(ctx context.Context, dir string) (string, error) {
	files, err := filetree.Read(dir)
	if err != nil {
		return "", err
	}
	if err := summed(files); err != nil {
		return "", fmt.Errorf("%s: %w", dir, err)
	}
	for name, data := range files {
		if strings.HasSuffix(name, ".tar.gz") {
			if files, err = published(files, name, data); err != nil {
				return "", fmt.Errorf("%s: %w", name, err)
			}
			break
		}
	}
	goSum := string(files["go.sum"])
	_, rest, _ := strings.Cut("\n"+goSum, "\n"+p.Module+" ")
	version, _, is := strings.Cut(rest, " ")
	if !is {
		return "", fmt.Errorf("%s is not a release of %s: its go.sum does not name one", dir, p.Module)
	}
	want, from, err := p.Sums(ctx, version)
	if err != nil {
		return "", err
	}
	if !slices.Equal(slices.Sorted(strings.Lines(goSum)), slices.Sorted(strings.Lines(want))) {
		return "", fmt.Errorf("go.sum is not that of %s:\n%s", from, filetree.Diff(from, []byte(want), dir, []byte(goSum)))
	}
	if err := modulesOf(files, goSum); err != nil {
		return "", err
	}
	base, _, _ := strings.Cut(version, "-")
	r, err := p.On(base).Release(ctx, "")
	if err != nil || r.Fork.Module().Version != version {
		return fmt.Sprintf("%s %s: the modules are those of %s; the documents beside them are only those of %s", p.Module, version, from,
			sumsFile), nil
	}
	for _, name := range filetree.Changed(r.Files, files) {
		if name != sumsFile && path.Ext(name) != ".zip" { // of the same content, if another Go has compressed them
			return "", fmt.Errorf("%s is not what this working copy builds", name)
		}
	}
	return fmt.Sprintf("%s %s: all files are those that this working copy makes; the hashes are those of %s", p.Module, version, from), nil
}

// summed compares files with those that their SHA256SUMS names.
func summed(files filetree.Tree) error {
	listed := map[string]bool{}
	for line := range strings.Lines(string(files[sumsFile])) {
		_, name, _ := strings.Cut(strings.TrimRight(line, "\n"), "  ")
		switch data, is := files[name]; {
		case !is:
			return fmt.Errorf("%s names %s, which is not there", sumsFile, name)
		case strings.TrimRight(line, "\n") != written(name, data):
			return fmt.Errorf("%s has a different hash for %s", sumsFile, name)
		}
		listed[name] = true
	}
	for name := range files {
		if name != sumsFile && !listed[name] {
			return fmt.Errorf("%s does not name %s", sumsFile, name)
		}
	}
	return nil
}

// published returns the release in a published archive, after comparing it with its own SHA256SUMS and with the files beside the archive.
func published(beside filetree.Tree, archive string, data []byte) (filetree.Tree, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	files, byName := filetree.Tree{}, filetree.Tree{}
	for r := tar.NewReader(unzipped); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if header.Typeflag == tar.TypeDir {
			continue
		}
		name := path.Clean(header.Name)
		if files[name], err = io.ReadAll(r); err != nil {
			return nil, err
		}
		byName[path.Base(name)] = files[name]
	}
	for name, text := range beside {
		if name != archive && name != sumsFile && !bytes.Equal(text, byName[name]) {
			return nil, fmt.Errorf("the %s in it differs from the one beside it", name)
		}
	}
	return files, summed(files)
}

// modulesOf compares the zips and the go.mod files of modules with lines of a go.sum.
func modulesOf(files filetree.Tree, goSum string) error {
	for line := range strings.Lines(goSum) {
		words := strings.Fields(line)
		if len(words) != 3 {
			return fmt.Errorf("go.sum: %q is not a line of a go.sum file", line)
		}
		version, isMod := strings.CutSuffix(words[1], "/go.mod")
		escaped, err := module.EscapePath(words[0])
		if err != nil {
			return err
		}
		at, sum := path.Join(escaped, "@v", version), ""
		if isMod {
			sum, err = filetree.Tree{"go.mod": files[at+".mod"]}.Hash("")
		} else {
			sum, err = zipHash(files[at+".zip"])
		}
		if err != nil || sum != words[2] {
			return errors.Join(err, fmt.Errorf("%s %s is not what go.sum says: its hash is %s", words[0], words[1], sum))
		}
	}
	return nil
}

// zipHash returns the hash that go.sum has of a module's zip.
func zipHash(data []byte) (string, error) {
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return "", err
	}
	var names []string
	for _, f := range archive.File {
		names = append(names, f.Name)
	}
	return dirhash.Hash1(names, func(name string) (io.ReadCloser, error) { return archive.Open(name) })
}
