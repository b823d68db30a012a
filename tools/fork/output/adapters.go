package output

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"mongofork/tools/fork/filetree"
)

// adapterFolder holds modules that work with the fork only and are released with it.
const adapterFolder = "contrib"

// adapter is a module of that folder in its released form.
type adapter struct {
	module.Version
	tree filetree.Tree
}

// adaptersIn returns a repository's adapters: the modules that can be imported. Their version is only the patch level, since they
// work with every base. Their replace lines, which serve work in the repository, are left out.
func adaptersIn(root, level string) ([]adapter, error) {
	files, err := filepath.Glob(filepath.Join(root, adapterFolder, "*", "go.mod"))
	if err != nil {
		return nil, err
	}
	var list []adapter
	for _, file := range files {
		tree, err := filetree.Read(filepath.Dir(file))
		if err != nil {
			return nil, err
		}
		if !importable(tree) {
			continue
		}
		parsed, err := modfile.Parse(path.Join(adapterFolder, filepath.Base(filepath.Dir(file)), "go.mod"), tree["go.mod"], nil)
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

// importable reports whether a tree has Go files other than tests.
func importable(tree filetree.Tree) bool {
	for name := range tree {
		if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			return true
		}
	}
	return false
}

// level returns the patch level in a release's version.
func level(base, version string) string { return strings.TrimPrefix(version, base+"-") }
