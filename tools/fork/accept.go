package fork

import (
	"context"
	"path/filepath"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
)

// AcceptOptions chooses what Accept records in the lock.
type AcceptOptions struct {
	// Keys are the declarations whose present fingerprints are accepted.
	Keys []syntax.Key
	// All accepts every touched declaration.
	All bool
	// Module is the path of upstream's module, for a base that has no lock yet.
	Module string
}

// Accepted is the lock after Accept.
type Accepted struct {
	*plan.Lock
	// Open are the disagreements with the overlay that remain.
	Open problem.List
}

// Accept records upstream's present declarations. An entry that no directive names any more is removed
// when it is accepted. A base that has no lock gets one.
func (p *Project) Accept(ctx context.Context, opt AcceptOptions) (*Accepted, error) {
	read := p.ReadLock
	if !p.hasLock() {
		read = func() (*plan.Lock, error) { return p.newLock(ctx, opt.Module) }
	}
	lock, err := read()
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
	return &Accepted{lock, lock.Check(plan, p.LockFile(), true)}, p.writeLock(lock)
}

// newLock returns the lock of a base that has none yet: the hashes and the go directive of the module at that version.
func (p *Project) newLock(ctx context.Context, module string) (*plan.Lock, error) {
	if err := p.checkBase(); err != nil {
		return nil, err
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
	return lock, nil
}

func (p *Project) writeLock(lock *plan.Lock) error {
	return filetree.Replace(filepath.Join(p.Root, filepath.FromSlash(p.LockFile())), lock.Format())
}
