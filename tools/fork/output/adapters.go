package output

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/plan"
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

// patchLevelFile is the file of the overlay with a constant that names the patch level of the fork, such as fork.1. What is compiled
// into the fork, and reported in handshakes and logs, is also what it is released as.
const patchLevelFile = "version/fork.go"

var patchLevel = regexp.MustCompile(`(?m)^const Fork = "([^"]+)"$`)

// ReleaseVersion returns the version that a plan's fork is released as: the base, a hyphen, and the patch level that the overlay
// names. As a pre-release of the base it cannot become upstream's own, which go.sum files know with other content.
func ReleaseVersion(p *plan.Plan) (string, error) {
	for _, f := range p.Overlay.Files {
		if level := patchLevel.FindSubmatch(f.Data); f.Path == patchLevelFile && level != nil {
			return p.Module.Version + "-" + string(level[1]), nil
		}
	}
	return "", fmt.Errorf("%s does not name the patch level by a constant Fork", patchLevelFile)
}
