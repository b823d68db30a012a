package plan

import (
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"mongofork/tools/fork/syntax"
)

// moves are folders of the overlay that a base has elsewhere, such as some below x, which upstream calls unstable.
type moves struct {
	to      map[string]string // from the folder here to that of the base
	imports *regexp.Regexp    // of these folders, and of those below
}

// readMoves reads a base's moves; none if there is no such file. A package keeps its name, by which it is imported.
func readMoves(root, file string) (m moves, err error) {
	table, err := os.ReadFile(filepath.Join(root, file))
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err == nil {
		err = yaml.Unmarshal(table, &m.to)
	}
	var folders []string
	for here, there := range m.to {
		folders = append(folders, regexp.QuoteMeta(here))
		if _, missing := os.Stat(filepath.Join(root, here)); missing != nil || !fs.ValidPath(there) || path.Base(here) != path.Base(there) {
			err = fmt.Errorf("%s: %s: give a folder of the overlay, and another that ends with the same name", here, there)
		}
	}
	if err != nil {
		return m, fmt.Errorf("%s: %w", file, err)
	}
	m.imports, err = regexp.Compile(`("[^"\n]+/)(` + strings.Join(folders, "|") + `)((?:/[^"\n]*)?")`)
	return m, err
}

// apply returns where a base has a file of the overlay, and its text with the imports of there.
func (m moves) apply(name string, data []byte) (string, []byte) {
	for here, there := range m.to {
		if file, below := strings.CutPrefix(name, here+"/"); below {
			name = there + "/" + file
		}
	}
	if len(m.to) == 0 || !syntax.IsGoFile(name) {
		return name, data
	}
	data = m.imports.ReplaceAllFunc(data, func(imported []byte) []byte {
		part := m.imports.FindSubmatch(imported)
		return slices.Concat(part[1], []byte(m.to[string(part[2])]), part[3])
	})
	if sorted, err := format.Source(data); err == nil {
		data = sorted
	}
	return name, data
}
