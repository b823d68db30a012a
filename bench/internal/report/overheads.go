package report

import (
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"mongofork/bench/internal/overhead"
	"mongofork/bench/internal/result"
)

// forkOverhead is the cost of the fork of a base; nil if not measured.
type forkOverhead struct {
	Base   string
	Canned *result.File[*overhead.Results]
	Server *result.File[*overhead.ServerResults]
}

const (
	overheadPrefix       = "overhead-"
	overheadServerPrefix = "overhead-server-"
)

// OverheadFile is the file of results for the fork of a base on the canned server.
func OverheadFile(base string) string { return overheadPrefix + base + result.Extension }

// OverheadServerFile is the same for a real server.
func OverheadServerFile(base string) string { return overheadServerPrefix + base + result.Extension }

// readOverheads reads what the folder has of all bases, in the order of their versions.
func readOverheads(folder string) ([]forkOverhead, error) {
	var bases []string
	for _, prefix := range []string{overheadPrefix, overheadServerPrefix} {
		found, err := filepath.Glob(filepath.Join(folder, prefix+"v*"+result.Extension))
		if err != nil {
			return nil, err
		}
		for _, path := range found {
			bases = append(bases, strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), prefix), result.Extension))
		}
	}
	slices.SortFunc(bases, semver.Compare)
	var all []forkOverhead
	for _, base := range slices.Compact(bases) {
		o := forkOverhead{Base: base}
		if err := read(&o.Canned, folder, OverheadFile(base)); err != nil {
			return nil, err
		}
		if err := read(&o.Server, folder, OverheadServerFile(base)); err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}
