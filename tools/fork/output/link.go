package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// LinkName is the link beside the forks that the go.mod files of this repository name.
const LinkName = "fork"

// Link makes the link beside the output lead to it.
func (o Folder) Link() error {
	link := filepath.Join(filepath.Dir(o.Dir), LinkName)
	target := filepath.Base(o.Dir)
	switch found, err := os.Readlink(link); {
	case err == nil && found == target:
		return nil
	case err == nil:
		if err := os.Remove(link); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is no link; move it away: %w", link, err)
	}
	return os.Symlink(target, link)
}
