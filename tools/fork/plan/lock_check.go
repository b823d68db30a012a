package plan

import (
	"fmt"

	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
	"mongofork/tools/fork/upstream"
)

// Check compares the plan with the lock's entries, both ways if the plan is
// known to be complete.
func (l *Lock) Check(plan *Plan, file string, complete bool) problem.List {
	var ps problem.List
	seen := map[Entry]bool{}
	compare := func(how syntax.Verb, key syntax.Key, hash syntax.Fingerprint, ours string, line int, theirs string) {
		e := Entry{how, key}
		seen[e] = true
		locked, ok := l.Entries[e]
		accept := fmt.Sprintf("read upstream's declaration, then go run ./tools/cmd/mongofork accept '%s'", key)
		switch {
		case !ok:
			ps.Add(ours, line, accept, "//fork:%s %s: not in the lock (%s, %s)", how, key.Name, plan.Module.Version, theirs)
		case locked != hash:
			ps.Add(ours, line, accept, "//fork:%s %s: upstream's declaration changed since the lock (%s %s -> %s, %s)",
				how, key.Name, plan.Module.Version, locked, hash, theirs)
		}
	}
	for _, t := range plan.Touches {
		compare(t.How, t.Key, t.Hash, t.Ours.File.Path, t.Ours.Line, t.Theirs.At())
	}
	for _, r := range plan.Removed {
		compare(syntax.Remove, r.Key, r.Hash, r.File.Path, r.Line, syntax.Places(r.Theirs))
	}
	for _, e := range sortedEntries(l.Entries) {
		if complete && !seen[e] {
			ps.Add(file, l.lines[e], fmt.Sprintf("go run ./tools/cmd/mongofork accept '%s'", e.Key),
				"%s is locked, but no directive of the overlay names it", e)
		}
	}
	return ps
}

// VerifyModule compares a module with the lock.
func VerifyModule(m *upstream.Module, lock *Lock, lockFile string) (problem.List, error) {
	sum, goModSum, err := m.Sums()
	if err != nil {
		return nil, err
	}
	var ps problem.List
	compare := func(what, got, want string) {
		if got != want {
			ps.Add(lockFile, 0, "go clean -modcache, then run the command again",
				"the hash of %s of %s@%s is %s, but the lock has %s", what, m.Path, m.Version, got, want)
		}
	}
	compare("the files in the module cache", sum, lock.Sum)
	compare("the go.mod file", goModSum, lock.GoModSum)
	return ps, nil
}
