package fork

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
)

// ConfigFile lists a project's overlay folders, one per line.
const ConfigFile = "etc/overlay"

// FindRoot returns the nearest folder, from the given one upwards, that holds an overlay's configuration.
func FindRoot(start string) (string, error) {
	start, err := filepath.Abs(start)
	if err != nil {
		return "", err
	}
	for at := start; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, filepath.FromSlash(ConfigFile))); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("no %s in %s or above: run this inside the repository", ConfigFile, start)
		}
	}
}

// Folders reads the list of overlay folders.
func (p *Project) Folders() ([]plan.Folder, error) {
	data, err := os.ReadFile(filepath.Join(p.Root, filepath.FromSlash(ConfigFile)))
	if err != nil {
		return nil, err
	}
	var folders []plan.Folder
	scan := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; scan.Scan(); n++ {
		line, _, _ := strings.Cut(scan.Text(), "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if !fs.ValidPath(line) || line == "." {
			return nil, problem.List{{File: ConfigFile, Line: n, Mend: "name a folder below the root, such as x",
				Message: fmt.Sprintf("%q is not a folder of this repository", line)}}
		}
		folders = append(folders, plan.Folder{Path: line, File: ConfigFile, Line: n})
	}
	return folders, scan.Err()
}
