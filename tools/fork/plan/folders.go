package plan

import (
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
func ReadFolders(root string) ([]string, error) {
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(FoldersFile)))
	if err != nil {
		return nil, err
	}
	var folders []string
	for line := range strings.Lines(string(data)) {
		folder, _, _ := strings.Cut(line, "#")
		if folder = strings.TrimSpace(folder); folder == "" {
			continue
		}
		if !fs.ValidPath(folder) || folder == "." {
			return nil, problem.List{{File: FoldersFile, Mend: "name a folder below the root, such as x",
				Message: fmt.Sprintf("%q is not a folder of this repository", folder)}}
		}
		folders = append(folders, folder)
	}
	return folders, nil
}
