package output

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mongofork/tools/fork/problem"
)

// Clean removes what the manifest says the builder wrote, the folders that
// become empty, and the manifest. Edited files are refused unless force is
// set; foreign files always stay.
func (o Folder) Clean(force bool) (removed int, err error) {
	if _, err := os.Stat(filepath.Dir(o.Dir)); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	release, err := o.hold()
	if err != nil {
		return 0, err
	}
	defer release()
	_, changes, err := o.state()
	if err != nil {
		return 0, err
	}
	var ps problem.List
	for _, p := range slices.Sorted(maps.Keys(changes)) {
		if changes[p] == Edited && !force {
			ps.Add(o.Label+"/"+p, 0, "go run ./tools/cmd/mongofork extract to keep it, or go run ./tools/cmd/mongofork clean --force to drop it", "%s since it was built", changes[p])
		}
	}
	if err := ps.OrNil(); err != nil {
		return 0, err
	}
	m, known, err := readManifest(o.manifestFile())
	if err != nil || !known {
		return 0, err
	}
	return o.remove(m)
}

func (o Folder) remove(m Manifest) (removed int, err error) {
	folders := map[string]bool{o.Dir: true}
	for p := range m {
		name := filepath.Join(o.Dir, filepath.FromSlash(p))
		if err := os.Remove(name); err == nil {
			removed++
		} else if !errors.Is(err, fs.ErrNotExist) {
			return removed, err
		}
		for dir := filepath.Dir(name); len(dir) > len(o.Dir); dir = filepath.Dir(dir) {
			folders[dir] = true
		}
	}
	deepestFirst := slices.Sorted(maps.Keys(folders))
	slices.SortStableFunc(deepestFirst, func(a, b string) int {
		return strings.Count(b, string(filepath.Separator)) - strings.Count(a, string(filepath.Separator))
	})
	for _, dir := range deepestFirst {
		// A folder that is not empty holds foreign files; it stays.
		_ = os.Remove(dir)
	}
	return removed, os.Remove(o.manifestFile())
}
