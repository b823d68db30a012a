package suite

import (
	"context"
	"io/fs"
	"path"
	"path/filepath"
	"slices"

	"mongofork/tools/gotest"
	"mongofork/tools/rig/report"
)

// modules runs the tests of the modules below the root: the lab, the adapters, the benchmarks, the examples.
func (r *Rig) modules(ctx context.Context, s *report.Suite) error {
	if _, err := r.build(ctx); err != nil {
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
		command := gotest.Command{Dir: r.file(folder), Env: env, Flags: race, Packages: []string{"./..."}}
		result, err := r.Tests.Test(ctx, command, r.Progress.Counter("modules "+folder))
		if err != nil {
			return err
		}
		record(s, result, func(key gotest.Key) string { return rerunCommand(folder, command, key, key.Package) })
	}
	return nil
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
