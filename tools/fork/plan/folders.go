package plan

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mongofork/tools/fork/problem"
)

// FoldersFile lists a repository's overlay folders, one per line.
const FoldersFile = "etc/overlay"

// ReadFolders reads a repository's list of overlay folders.
func ReadFolders(root string) ([]Folder, error) {
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(FoldersFile)))
	if err != nil {
		return nil, err
	}
	var folders []Folder
	scan := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; scan.Scan(); n++ {
		line, _, _ := strings.Cut(scan.Text(), "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if !fs.ValidPath(line) || line == "." {
			return nil, problem.List{{File: FoldersFile, Line: n, Mend: "name a folder below the root, such as x",
				Message: fmt.Sprintf("%q is not a folder of this repository", line)}}
		}
		folders = append(folders, Folder{Path: line, File: FoldersFile, Line: n})
	}
	return folders, scan.Err()
}
