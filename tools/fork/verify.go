package fork

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"

	"mongofork/tools/fork/filetree"
)

// sumsFile names all files of a release with their SHA-256.
const sumsFile = "SHA256SUMS"

// sumsOf returns what a release's SHA256SUMS has.
func sumsOf(files filetree.Tree) []byte {
	var sums []byte
	for _, name := range files.Paths() {
		if name != sumsFile {
			sums = fmt.Appendln(sums, written(name, files[name]))
		}
	}
	return sums
}

// SumLines yields the modules that lines of a go.sum file name, and their hashes. The version of a go.mod file's hash ends in /go.mod.
func SumLines(goSum string) iter.Seq2[module.Version, string] {
	return func(yield func(module.Version, string) bool) {
		for line := range strings.Lines(goSum) {
			if words := strings.Fields(line); len(words) == 3 && !yield(module.Version{Path: words[0], Version: words[1]}, words[2]) {
				return
			}
		}
	}
}

// Sums returns the lines that an application's go.sum may contain for a release of the fork and of its adapters, and where these lines come
// from: ReleasedFile, or what this working copy builds.
func (p *Project) Sums(ctx context.Context, version string) (goSum, from string, err error) {
	base, level, _ := strings.Cut(version, "-")
	data, err := os.ReadFile(p.file(ReleasedFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", "", err
	}
	for m, sum := range SumLines(string(data)) {
		if slices.Contains([]string{version, "v0.0.0-" + level}, strings.TrimSuffix(m.Version, "/go.mod")) {
			goSum += fmt.Sprintln(m.Path, m.Version, sum)
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

// Verify compares a downloaded release, a folder that serves as a GOPROXY, with its SHA256SUMS and with what Sums returns. If this working
// copy builds that release, it also compares all documents. It returns what was verified.
func (p *Project) Verify(ctx context.Context, dir string) (string, error) {
	files, err := filetree.Read(dir)
	if err != nil {
		return "", err
	}
	if sums := sumsOf(files); string(sums) != string(files[sumsFile]) {
		return "", fmt.Errorf("%s is not that of the files beside it:\n%s", filepath.Join(dir, sumsFile),
			filetree.Diff(sumsFile, files[sumsFile], "the files", sums))
	}
	goSum, version := string(files["go.sum"]), ""
	for m, sum := range SumLines(goSum) {
		have, err := hashOf(dir, files, m)
		if err != nil || have != sum {
			return "", errors.Join(err, fmt.Errorf("%s %s is not what go.sum says: its hash is %s", m.Path, m.Version, have))
		}
		if m.Path == p.Module {
			version = strings.TrimSuffix(m.Version, "/go.mod")
		}
	}
	if version == "" {
		return "", fmt.Errorf("%s is not a release of %s: its go.sum does not name one; unpack the archive of its page first", dir, p.Module)
	}
	want, from, err := p.Sums(ctx, version)
	if err != nil {
		return "", err
	}
	if !slices.Equal(slices.Sorted(strings.Lines(goSum)), slices.Sorted(strings.Lines(want))) {
		return "", fmt.Errorf("go.sum is not that of %s:\n%s", from, filetree.Diff(from, []byte(want), dir, []byte(goSum)))
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

// hashOf returns the hash that go.sum has of a module in a folder that serves as a GOPROXY, or of its go.mod file.
func hashOf(dir string, files filetree.Tree, m module.Version) (string, error) {
	version, isMod := strings.CutSuffix(m.Version, "/go.mod")
	escaped, err := module.EscapePath(m.Path)
	at := path.Join(escaped, "@v", version)
	if isMod || err != nil {
		sum, hashErr := filetree.Tree{"go.mod": files[at+".mod"]}.Hash("")
		return sum, errors.Join(err, hashErr)
	}
	return dirhash.HashZip(filepath.Join(dir, filepath.FromSlash(at+".zip")), dirhash.Hash1)
}
