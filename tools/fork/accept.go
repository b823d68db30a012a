package fork

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/mod/semver"

	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
	"mongofork/tools/fork/upstream"
)

// AcceptOptions chooses what Accept records in the lock.
type AcceptOptions struct {
	// Keys are the declarations whose present fingerprints are accepted.
	Keys []syntax.Key
	// All accepts every touched and watched declaration.
	All bool
}

// Accepted is the lock after Accept.
type Accepted struct {
	*plan.Lock
	// Open are the disagreements with the overlay that remain; the output's
	// hash is recorded when there is none.
	Open problem.List
}

// Accept records upstream's present declarations, and the hash of the output if
// the overlay then builds. An entry that no directive names any more is removed
// when it is accepted.
func (p *Project) Accept(ctx context.Context, opt AcceptOptions) (*Accepted, error) {
	lock, err := p.ReadLock()
	if err != nil {
		return nil, err
	}
	plan, problems, err := p.match(ctx, lock)
	if err != nil {
		return nil, err
	}
	if err := problems.OrNil(); err != nil {
		return nil, err
	}
	if err := lock.Accept(plan, opt.Keys, opt.All); err != nil {
		return nil, err
	}
	open := lock.Check(plan, p.LockFile(), true)
	if len(open) == 0 {
		a, err := assemble.Build(plan)
		if err != nil {
			return nil, err
		}
		if lock.Output, err = a.Hash(""); err != nil {
			return nil, err
		}
	}
	return &Accepted{lock, open}, p.writeLock(lock)
}

// NewLock records a base that has no lock yet: the hashes and the go directive
// of the module at that version. Fingerprints that are the same as in the lock
// of the highest base below are taken over, with the other files of that base;
// the rest stays to be reviewed and accepted.
func (p *Project) NewLock(ctx context.Context, module string) (*plan.Lock, error) {
	if err := p.checkBase(); err != nil {
		return nil, err
	}
	if p.hasLock() {
		return nil, problem.List{{File: p.LockFile(), Message: "the lock exists already", Mend: "go run ./tools/cmd/mongofork accept --all, or remove the file first"}}
	}
	m, err := p.Source.Module(ctx, module, p.Base)
	if err != nil {
		return nil, err
	}
	lock := &plan.Lock{Module: module, Version: p.Base, Entries: map[plan.Entry]syntax.Fingerprint{}}
	if lock.Sum, lock.GoModSum, err = m.Sums(); err != nil {
		return nil, err
	}
	if lock.Go, err = m.GoVersion(); err != nil {
		return nil, err
	}
	if problems, err := plan.VerifyModule(m, lock, p.LockFile()); err != nil || len(problems) > 0 {
		return nil, errors.Join(err, problems.OrNil())
	}
	if err := p.carryOver(lock, m, p.below()); err != nil {
		return nil, err
	}
	return lock, p.writeLock(lock)
}

// below returns the highest base below the project's, or "".
func (p *Project) below() string {
	bases, _ := p.Bases() // there is none yet when the first one is made
	below := ""
	for _, base := range bases {
		if semver.Compare(base, p.Base) < 0 {
			below = base
		}
	}
	return below
}

// carryOver takes from another base's lock what is unchanged in m, and copies the base's other files unless they exist.
func (p *Project) carryOver(lock *plan.Lock, m *upstream.Module, from string) error {
	other := Project{Root: p.Root, Base: from}
	if from == "" || !other.hasLock() {
		return nil
	}
	previous, err := other.ReadLock()
	if err != nil {
		return err
	}
	for e, hash := range previous.Entries {
		lookup := m.Lookup
		if e.How == syntax.Remove {
			lookup = m.LookupWhole
		}
		found, err := lookup(e.Key)
		if err != nil {
			return err
		}
		if len(found) > 0 && syntax.FingerprintOf(found...) == hash {
			lock.Entries[e] = hash
		}
	}
	return p.copyFiles(&other)
}

// copyFiles copies the files of another base that the new one does not have.
func (p *Project) copyFiles(other *Project) error {
	files := func(p *Project) string { return filepath.Join(p.Root, filepath.FromSlash(path.Dir(p.LockFile()))) }
	tree, err := filetree.Read(files(other))
	if err != nil {
		return err
	}
	delete(tree, path.Base(other.LockFile()))
	for name := range tree {
		if _, err := os.Lstat(filepath.Join(files(p), name)); err == nil {
			delete(tree, name)
		}
	}
	return tree.Write(files(p))
}

func (p *Project) writeLock(lock *plan.Lock) error {
	return filetree.Replace(filepath.Join(p.Root, filepath.FromSlash(p.LockFile())), lock.Format())
}
