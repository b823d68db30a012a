package suite

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"

	"mongofork/tools/rig/drivermod"
	"mongofork/tools/rig/gotest"
	"mongofork/tools/rig/report"
)

// benchModule simulates hours of load, for which the race detector is too slow.
const benchModule = "bench"

// modules runs the tests of the modules below the root: the lab, the adapters, the benchmarks, the examples.
func (r *Rig) modules(ctx context.Context, s *report.Suite) error {
	t, err := r.build(ctx)
	if err != nil {
		return err
	}
	folders, err := r.nestedModules()
	if err != nil {
		return err
	}
	env := r.env()
	if project, err := r.project(ctx, r.Fork); err == nil {
		env = r.env("SPECIFICATIONS=" + filepath.Join(project, "testdata", "specifications"))
	}
	race, note := r.race(ctx)
	s.Note = note
	for _, folder := range folders {
		flags, err := r.moduleFlags(ctx, t, folder)
		if err != nil {
			return err
		}
		command := gotest.Command{Dir: r.file(folder), Env: env, Flags: flags, Packages: []string{"./..."}}
		if folder != benchModule {
			command.Flags = append(command.Flags, race...)
		}
		result, err := r.Tests.Test(ctx, command, r.Progress.Counter("modules "+folder))
		if err != nil {
			return err
		}
		record(s, result, func(key gotest.Key) string { return rerunCommand(folder, command, key, key.Package) })
	}
	return nil
}

// moduleFlags returns the flags that build a module with the fork of this base, though its go.mod may name another. The
// benchmarks compare the fork that theirs names with other drivers, and so are tested with that one.
func (r *Rig) moduleFlags(ctx context.Context, t *trees, folder string) ([]string, error) {
	if folder != benchModule {
		return drivermod.Flags(r.file(folder), r.file(t.fork), r.file("build", "modfiles", r.Base, folder))
	}
	named, err := drivermod.Folder(r.file(folder))
	if err != nil || named == "" || named == r.file(t.fork) {
		return nil, err
	}
	if _, err := r.Tools.Run(ctx, r.Root, r.env(), r.builder(), "--base", filepath.Base(named), "build"); err != nil {
		return nil, fmt.Errorf("build the fork for %s: %w", folder, err)
	}
	return nil, nil
}

// nestedModules returns the folders below the root that have a go.mod, except build output and test data.
func (r *Rig) nestedModules() ([]string, error) {
	var folders []string
	err := filepath.WalkDir(r.Root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		slashed, err := filepath.Rel(r.Root, name)
		if err != nil {
			return err
		}
		slashed = filepath.ToSlash(slashed)
		switch {
		case entry.IsDir() && (slashed == "build" || slashed == ".git" || entry.Name() == "testdata"):
			return filepath.SkipDir
		case entry.Name() == "go.mod" && slashed != "go.mod":
			folders = append(folders, path.Dir(slashed))
		}
		return nil
	})
	slices.Sort(folders)
	return folders, err
}
