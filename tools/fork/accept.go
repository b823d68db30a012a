package fork

import (
	"context"
	"errors"
	"path/filepath"

	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
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

// NewLock records a base that has no lock yet: the hashes and the go directive of the module at that version. Its declarations stay to
// be reviewed and accepted.
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
	return lock, p.writeLock(lock)
}

func (p *Project) writeLock(lock *plan.Lock) error {
	return filetree.Replace(filepath.Join(p.Root, filepath.FromSlash(p.LockFile())), lock.Format())
}
