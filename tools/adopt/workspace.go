package adopt

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// workspace returns the go.work file in effect; empty if there is none.
func (a Application) workspace(ctx context.Context) (string, error) {
	file, err := a.goCommand(ctx, nil, "env", "GOWORK")
	return strings.TrimPrefix(file, "off"), err
}

// workFile returns the workspace; nil if there is none, or if it cannot be read, about which the go command says more.
func (a Application) workFile() *modfile.WorkFile {
	data, err := os.ReadFile(a.work)
	if err != nil {
		return nil
	}
	work, err := modfile.ParseWork(a.work, data, nil)
	if err != nil {
		return nil
	}
	return work
}

// member is a module of a workspace.
type member struct {
	*modfile.File
	dir string
}

// members returns the modules of the workspace that can be read.
func (a Application) members() (list []member) {
	if work := a.workFile(); work != nil {
		for _, use := range work.Use {
			dir := below(filepath.Dir(a.work), use.Path)
			if file, err := parse(dir); err == nil {
				list = append(list, member{file, dir})
			}
		}
	}
	return list
}

// listed fails if the application is in no workspace although one is in effect: then the fork would not be in effect.
func (a Application) listed(name string) error {
	if a.workFile() == nil || slices.ContainsFunc(a.members(), func(m member) bool { return realFolder(m.dir) == realFolder(a.Dir) }) {
		return nil
	}
	return fmt.Errorf("%s is below a go.work file that does not list it: add it there with go work use, or set GOWORK=off", name)
}

// requiring names the module whose go.mod requires the version of the driver that is in effect: if the application's does not, another one
// of the workspace.
func (a Application) requiring(file *modfile.File, inEffect string) string {
	requires := func(file *modfile.File) bool {
		r := requirement(file, Driver)
		return r != nil && r.Mod.Version == inEffect
	}
	if members := a.members(); !requires(file) {
		if i := slices.IndexFunc(members, func(m member) bool { return requires(m.File) }); i >= 0 {
			return members[i].Module.Mod.Path
		}
	}
	return file.Module.Mod.Path
}
