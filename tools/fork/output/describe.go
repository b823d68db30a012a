package output

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"mongofork/tools/fork/filetree"
)

// descriptions is the folder of the files that say in the module what it is, in place of what upstream says of its own.
const descriptions = "etc/module"

// Described puts the descriptions of a repository, if it has some, into the tree of its fork. UPSTREAM and VERSION in them are the base
// and the fork's version.
func Described(root string, f Fork) error {
	texts, err := filetree.Read(filepath.Join(root, filepath.FromSlash(descriptions)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	names := strings.NewReplacer("UPSTREAM", f.Plan.Module.String(), "VERSION", f.Version())
	for name, text := range texts {
		f.Tree[name] = []byte(names.Replace(string(text)))
	}
	return err
}
