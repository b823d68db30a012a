package output

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mongofork/tools/fork/problem"
)

// ReleasedFile has the lines for go.sum of all versions that were released, of the fork on any base and of the adapters: the checksum
// database and users' go.sum never forget a version.
const ReleasedFile = "etc/released.sum"

// withReleased returns the content of ReleasedFile with a release's lines, too. A version that it has with another hash is a problem.
func withReleased(root, goSum string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(ReleasedFile)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	lines := slices.Collect(strings.Lines(string(data)))
	var ps problem.List
	for now := range strings.Lines(goSum) {
		version := now[:strings.LastIndex(now, " ")+1]
		was := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, version) })
		switch {
		case was < 0:
			lines = append(lines, now)
		case lines[was] != now:
			ps.Add(ReleasedFile, was+1, "raise Fork in version/fork.go", "%swas released with different content", version)
		}
	}
	slices.Sort(lines)
	return []byte(strings.Join(lines, "")), ps.OrNil()
}
