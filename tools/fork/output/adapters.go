package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/plan"
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
