package fork

import (
	"fmt"
	"os"
	"path/filepath"

	"mongofork/tools/fork/plan"
)

// FindRoot returns the nearest folder, from the given one upwards, that holds an overlay's configuration.
func FindRoot(start string) (string, error) {
	start, err := filepath.Abs(start)
	if err != nil {
		return "", err
	}
	for at := start; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, filepath.FromSlash(plan.FoldersFile))); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("no %s in %s or above: run this inside the repository", plan.FoldersFile, start)
		}
	}
}

// Folders reads the list of overlay folders.
func (p *Project) Folders() ([]plan.Folder, error) { return plan.ReadFolders(p.Root) }
