package output

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/problem"
)

// The files of a folder of releases that are about all of its versions.
const (
	sumsFile  = "SHA256SUMS"
	goSumFile = "go.sum"
)

// publish adds the files of a release to a folder. Applications are pinned to what the folder has, so a version that it has with another
// content is a problem.
func publish(dir string, files filetree.Tree, goSum string) error {
	have, err := filetree.Read(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	label := filepath.ToSlash(dir)
	if len(have) > 0 && have[sumsFile] == nil {
		return problem.List{{File: label, Message: "the folder has something else than releases",
			Mend: "choose another folder with -o"}}
	}
	var ps problem.List
	for name, data := range files {
		if was, ok := have[name]; ok && !bytes.Equal(was, data) {
			ps.Add(path.Join(label, name), 0, "raise Fork in version/fork.go",
				"this version was released with different content")
		}
	}
	if err := ps.OrNil(); err != nil {
		return err
	}
	all := filetree.Tree{}
	for name, data := range have {
		if isVersion(name) {
			all[name] = data
		}
	}
	maps.Copy(all, files)
	all = withIndex(all, string(have[goSumFile])+goSum)
	// What names a file comes after it, so that whoever reads meanwhile finds what was there or what is.
	changed := filetree.Changed(have, all)
	slices.SortStableFunc(changed, func(a, b string) int { return rank(a) - rank(b) })
	for _, name := range changed {
		if data, ok := all[name]; ok {
			if err := filetree.Replace(filepath.Join(dir, filepath.FromSlash(name)), data); err != nil {
				return err
			}
		}
	}
	return nil
}

// isVersion reports whether a file of a folder of releases is part of a version.
func isVersion(name string) bool { return strings.Contains(name, "/@v/v") }

func rank(name string) int {
	switch {
	case isVersion(name):
		return 0
	case name == sumsFile:
		return 2
	}
	return 1
}

// withIndex adds to the files of versions what is about all of them: the lists of the proxy protocol, the lines for go.sum, of which the
// last of a version holds, and SHA256SUMS.
func withIndex(files filetree.Tree, goSum string) filetree.Tree {
	all := maps.Clone(files)
	lists := map[string][]string{}
	there := map[string]bool{}
	for name := range files {
		if version, ok := strings.CutSuffix(path.Base(name), ".info"); ok {
			list := path.Join(path.Dir(name), "list")
			lists[list] = append(lists[list], version)
			there[strings.TrimSuffix(name, ".info")] = true
		}
	}
	for list, versions := range lists {
		semver.Sort(versions)
		all[list] = []byte(strings.Join(versions, "\n") + "\n")
	}
	sums := map[string]string{}
	for line := range strings.Lines(goSum) {
		if words := strings.Fields(line); len(words) == 3 &&
			there[path.Join(words[0], "@v", strings.TrimSuffix(words[1], "/go.mod"))] {
			sums[words[0]+" "+words[1]] = line
		}
	}
	var text strings.Builder
	for _, version := range slices.Sorted(maps.Keys(sums)) {
		text.WriteString(sums[version])
	}
	all[goSumFile] = []byte(text.String())
	all[sumsFile] = []byte(manifest(all))
	return all
}
