// Package fork lays the Go files of a repository over a module in the module cache: it checks what the files assert about
// that module against a lock, assembles the result, and writes it as a module, a patch or a release.
//
// It is the front of the packages below it. Each of these imports only those before it: problem, filetree, git, syntax, upstream, plan,
// assemble, layer, drift, series.
package fork

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/mod/semver"

	"mongofork/tools/fork/drift"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/git"
	"mongofork/tools/fork/layer"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/upstream"
)

// Project is a repository that holds an overlay.
type Project struct {
	// Root is the repository's directory.
	Root string
	// Module is the path of upstream's module, Base the version of it to build on.
	Module, Base string
	// Source provides upstream's modules.
	Source upstream.Source
	// State says what the commit of folders of a working copy is; without it everything counts as released.
	State func(ctx context.Context, root string, folders []string) (git.State, error)
}

// LockFile returns the path of the base's lock, relative to the root.
func (p *Project) LockFile() string { return lockFile(p.Base) }

func lockFile(version string) string { return path.Join("etc/bases", version, "fork.lock") }

func (p *Project) file(name string) string { return filepath.Join(p.Root, filepath.FromSlash(name)) }

// Bases returns the versions of upstream that have a lock, in ascending order.
func (p *Project) Bases() ([]string, error) {
	locks, err := filepath.Glob(p.file(lockFile("v*")))
	if err == nil && len(locks) == 0 {
		err = fmt.Errorf("%s: no base has a lock (mongofork accept makes one)", lockFile("*"))
	}
	var bases []string
	for _, lock := range locks {
		bases = append(bases, filepath.Base(filepath.Dir(lock)))
	}
	semver.Sort(bases)
	return bases, err
}

// On returns the project on another base.
func (p *Project) On(base string) *Project {
	other := *p
	other.Base = base
	return &other
}

// readLock reads the lock of the base.
func (p *Project) readLock() (*plan.Lock, error) {
	data, err := os.ReadFile(p.file(p.LockFile()))
	if errors.Is(err, fs.ErrNotExist) {
		mend := "go run ./tools/cmd/mongofork accept --base " + p.Base
		if bases, err := p.Bases(); err == nil {
			mend = "name one of " + strings.Join(bases, ", ") + " with BASE or --base, or " + mend
		}
		return nil, problem.List{{File: p.LockFile(), Message: "there is no base " + p.Base, Mend: mend}}
	}
	if err != nil {
		return nil, err
	}
	return plan.ParseLock(p.LockFile(), data)
}

// Assemble reads the overlay, matches it with the base, and lays it over that, in memory. The error is a problem.List if an assertion
// failed, the lock's included.
func (p *Project) Assemble(ctx context.Context) (*plan.Plan, filetree.Tree, error) {
	lock, err := p.readLock()
	if err != nil {
		return nil, nil, err
	}
	plan, tree, problems, err := p.match(ctx, lock)
	if err != nil {
		return nil, nil, err
	}
	// What a broken directive names is unknown, so "locked, but not named" would only repeat its problem.
	return plan, tree, append(problems, lock.Check(plan, p.LockFile(), len(problems) == 0)...).OrNil()
}

// match obtains the base, compares it with the lock, and lays the overlay over it, in memory.
func (p *Project) match(ctx context.Context, lock *plan.Lock) (*plan.Plan, filetree.Tree, problem.List, error) {
	m, err := p.Source(ctx, p.Module, p.Base)
	if err != nil {
		return nil, nil, nil, err
	}
	bases, _ := p.Bases() // none before the first is accepted
	o, problems, err := plan.ReadOverlay(p.Root, m, bases...)
	if err != nil {
		return nil, nil, nil, err
	}
	plan, tree, unmatched, err := layer.Lay(m, o)
	sum, sumErr := m.Sum()
	if err := errors.Join(err, sumErr); err != nil {
		return nil, nil, nil, err
	}
	problems = append(problems, unmatched...)
	if lock.Module != m.String() {
		problems.Add(p.LockFile(), 0, "restore the file from version control", "the lock is for %s, not for %s", lock.Module, m)
	} else if lock.Sum != "" && sum != lock.Sum {
		problems.Add(p.LockFile(), 0, "go clean -modcache, then run the command again",
			"the hash of the files in the module cache of %s is %s, but the lock has %s", m, sum, lock.Sum)
	}
	return plan, tree, problems, nil
}

// Accept makes the lock of the base anew, or its first one, from upstream's present declarations, and returns how many it has.
func (p *Project) Accept(ctx context.Context) (entries int, err error) {
	if semver.Canonical(p.Base) != p.Base { // it names a folder, and a module to download
		return 0, fmt.Errorf("base %q is not a version such as v2.5.0", p.Base)
	}
	former := &plan.Lock{Module: p.Module + " " + p.Base}
	if _, err := os.Stat(p.file(p.LockFile())); err == nil {
		if former, err = p.readLock(); err != nil {
			return 0, err
		}
	}
	matched, _, problems, err := p.match(ctx, former)
	if err := errors.Join(err, problems.OrNil()); err != nil {
		return 0, err
	}
	lock, err := plan.NewLock(matched)
	data, formatErr := lock.Format()
	if err := errors.Join(err, formatErr); err != nil {
		return 0, err
	}
	return len(lock.Touched), filetree.Replace(p.file(p.LockFile()), data)
}

// Compile returns why the fork does not compile, if it does not.
func (p *Project) Compile(ctx context.Context) (problem.List, error) {
	matched, tree, err := p.Assemble(ctx)
	if err != nil {
		return nil, err
	}
	return drift.Compile(ctx, matched, tree)
}

// Drift compares what the overlay for the project's base touches and uses of upstream's with another version, and tries the overlay
// that is for that one.
func (p *Project) Drift(ctx context.Context, version string) (*drift.Report, error) {
	matched, _, err := p.Assemble(ctx)
	target, targetErr := p.Source(ctx, p.Module, version)
	if err := errors.Join(err, targetErr); err != nil {
		return nil, err
	}
	overlay, problems, err := plan.ReadOverlay(p.Root, target)
	if err != nil {
		return nil, err
	}
	report, err := drift.Compare(ctx, matched, target, overlay)
	report.Misfits = append(report.Misfits, problems...)
	return report, err
}
