package output

import (
	"fmt"
	"os"
	"path/filepath"
)

// LinkName is the link beside the forks that the go.mod files of this repository name.
const LinkName = "fork"

// Link makes the link beside the output lead to it.
func (o Folder) Link() error {
	link, target := filepath.Join(filepath.Dir(o.Dir), LinkName), filepath.Base(o.Dir)
	if found, err := os.Readlink(link); err == nil {
		if found == target {
			return nil
		}
		if err := os.Remove(link); err != nil {
			return err
		}
	}
	if err := os.Symlink(target, link); err != nil {
		return fmt.Errorf("%w (if %s is no link, move it away)", err, link)
	}
	return nil
}
