// Package fork lays the Go files of a repository over a module in the module cache: it checks what the files assert about
// that module against a lock, assembles the result, and writes it as a module, a patch or a release.
//
// It is the front of the packages below it, which docs/builder.md lists in the order in which they use each other.
package fork

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"mongofork/tools/fork/advisory"
	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/git"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/upstream"
)

// Project is a repository that holds an overlay.
type Project struct {
	// Root is the repository's directory.
	Root string
	// Base is the version of upstream to build on.
	Base string
	// Source provides upstream's modules.
	Source upstream.Source
	// State says what the commit of folders is; without it everything counts as released.
	State func(ctx context.Context, root, tag string, folders []string) (git.State, error)
}

// LockFile returns the path of the base's lock, relative to the root.
func (p *Project) LockFile() string { return lockFile(p.Base) }

func lockFile(version string) string { return path.Join("etc/bases", version, "fork.lock") }

// hasLock reports whether something is at the lock's place.
func (p *Project) hasLock() bool {
	_, err := os.Lstat(filepath.Join(p.Root, filepath.FromSlash(p.LockFile())))
	return !errors.Is(err, fs.ErrNotExist)
}

// ReadLock reads the lock of the base.
func (p *Project) ReadLock() (*plan.Lock, error) {
	if err := p.checkBase(); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(p.Root, filepath.FromSlash(p.LockFile())))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, problem.List{{File: p.LockFile(), Message: "there is no lock for " + p.Base,
			Mend: "name a base below etc/bases, or go run ./tools/cmd/mongofork accept --all --base " + p.Base}}
	}
	if err != nil {
		return nil, err
	}
	return plan.ParseLock(p.LockFile(), data)
}

// Plan reads the overlay and matches it with the base. The error is a problem.List
// if an assertion failed, the lock's included.
func (p *Project) Plan(ctx context.Context) (*plan.Plan, error) {
	lock, err := p.ReadLock()
	if err != nil {
		return nil, err
	}
	plan, problems, err := p.match(ctx, lock)
	if err != nil {
		return nil, err
	}
	// What a broken directive names is unknown, so "locked, but not named" would
	// only repeat its problem.
	known := len(problems) == 0
	problems = append(problems, lock.Check(plan, p.LockFile(), known)...)
	advisories, err := advisory.Read(p.Root)
	if err != nil {
		return nil, err
	}
	if known {
		problems = append(problems, advisories.Check(plan)...)
	}
	return plan, problems.OrNil()
}

// Match is Plan without the lock's fingerprints, for reviewing changed
// declarations.
func (p *Project) Match(ctx context.Context) (*plan.Plan, error) {
	lock, err := p.ReadLock()
	if err != nil {
		return nil, err
	}
	plan, problems, err := p.match(ctx, lock)
	if err != nil {
		return nil, err
	}
	return plan, problems.OrNil()
}

func (p *Project) match(ctx context.Context, lock *plan.Lock) (*plan.Plan, problem.List, error) {
	m, problems, err := p.module(ctx, lock)
	if err != nil {
		return nil, nil, err
	}
	o, more, err := p.overlay()
	if err != nil {
		return nil, nil, err
	}
	plan, unmatched, err := plan.Match(m, o)
	return plan, slices.Concat(problems, more, unmatched), err
}

// module obtains the base and compares it with the lock.
func (p *Project) module(ctx context.Context, lock *plan.Lock) (*upstream.Module, problem.List, error) {
	m, err := p.Source.Module(ctx, lock.Module, p.Base)
	if err != nil {
		return nil, nil, err
	}
	problems, err := plan.VerifyModule(m, lock, p.LockFile())
	if lock.Version != p.Base {
		problems.Add(p.LockFile(), 0, "restore the file from version control", "the lock is for %s, not for %s",
			lock.Version, p.Base)
	}
	return m, problems, err
}

func (p *Project) overlay() (*plan.Overlay, problem.List, error) {
	folders, err := plan.ReadFolders(p.Root)
	if err != nil {
		return nil, nil, err
	}
	return plan.ReadOverlay(os.DirFS(p.Root), p.Base, folders)
}

// Assemble plans and lays the overlay over the base, in memory.
func (p *Project) Assemble(ctx context.Context) (*plan.Plan, filetree.Tree, error) {
	plan, err := p.Plan(ctx)
	if err != nil {
		return nil, nil, err
	}
	a, err := assemble.Build(plan)
	return plan, a, err
}

// Pristine returns the base as it is, verified against the lock.
func (p *Project) Pristine(ctx context.Context) (filetree.Tree, error) {
	lock, err := p.ReadLock()
	if err != nil {
		return nil, err
	}
	m, problems, err := p.module(ctx, lock)
	if err != nil {
		return nil, err
	}
	return assemble.Pristine(m), problems.OrNil()
}
