package output

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"mongofork/tools/fork/filetree"
)

// adapters are modules of the folder contrib that work with the fork only and are released with it.
var adapters = []string{"otel", "prometheus"}

// adapter is one of them in its released form.
type adapter struct {
	module.Version
	tree filetree.Tree
}

// adaptersIn returns those of the adapters that a repository has. Their version is only the patch level, since they work with every
// base. Their replace lines, which serve work in the repository, are left out.
func adaptersIn(root, level string) ([]adapter, error) {
	var list []adapter
	for _, name := range adapters {
		tree, err := filetree.Read(filepath.Join(root, "contrib", name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		parsed, err := modfile.Parse(name, tree["go.mod"], nil)
		if err != nil {
			return nil, err
		}
		for len(parsed.Replace) > 0 {
			old := parsed.Replace[0].Old
			if err := parsed.DropReplace(old.Path, old.Version); err != nil {
				return nil, err
			}
			parsed.Cleanup()
		}
		if tree["go.mod"], err = parsed.Format(); err != nil {
			return nil, err
		}
		if tree["LICENSE"], err = os.ReadFile(filepath.Join(root, "LICENSE")); err != nil {
			return nil, err
		}
		list = append(list, adapter{module.Version{Path: parsed.Module.Mod.Path, Version: "v0.0.0-" + level}, tree})
	}
	return list, nil
}
