package fork

import (
	"context"
	"path/filepath"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
)

// Accept records upstream's present declarations of some keys, or all, and returns the lock and what still disagrees with the overlay. An
// entry that no directive names any more is removed when it is accepted. A base that has no lock gets one, for which the path of upstream's
// module is needed.
func (p *Project) Accept(ctx context.Context, module string, keys []syntax.Key, all bool) (lock *plan.Lock, open problem.List, err error) {
	read := p.ReadLock
	if !p.hasLock() {
		read = func() (*plan.Lock, error) { return p.newLock(ctx, module) }
	}
	if lock, err = read(); err != nil {
		return nil, nil, err
	}
	plan, problems, err := p.match(ctx, lock)
	if err == nil {
		err = problems.OrNil()
	}
	if err == nil {
		err = lock.Accept(plan, keys, all)
	}
	if err != nil {
		return nil, nil, err
	}
	return lock, lock.Check(plan, p.LockFile(), true), p.writeLock(lock)
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
