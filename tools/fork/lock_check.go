package fork

import "fmt"

// check compares the plan with the lock's entries, both ways if the plan is
// known to be complete.
func (l *Lock) check(plan *Plan, file string, complete bool) Problems {
	var ps Problems
	seen := map[Entry]bool{}
	compare := func(how Verb, key Key, hash Fingerprint, ours string, line int, theirs string) {
		e := Entry{how, key}
		seen[e] = true
		locked, ok := l.Entries[e]
		accept := fmt.Sprintf("go run ./tools/cmd/mongofork diff --upstream '%s', then go run ./tools/cmd/mongofork accept '%s'", key, key)
		switch {
		case !ok:
			ps.add(ours, line, accept, "//fork:%s %s: not in the lock (%s, %s)", how, key.Name, plan.Module.origin(), theirs)
		case locked != hash:
			ps.add(ours, line, accept, "//fork:%s %s: upstream's declaration changed since the lock (%s %s -> %s, %s)",
				how, key.Name, plan.Module.origin(), locked.short(), hash.short(), theirs)
		}
	}
	for _, t := range plan.Touches {
		compare(t.How, t.Key, t.Hash, t.Ours.File.Path, t.Ours.Line, t.Theirs.at())
	}
	for _, r := range plan.Removed {
		compare(Remove, r.Key, r.Hash, r.File.Path, r.Line, places(r.Theirs))
	}
	for _, w := range plan.Watched {
		compare(Watch, w.Key, w.Hash, w.File.Path, w.Line, places(w.Theirs))
	}
	for _, e := range sortedEntries(l.Entries) {
		if complete && !seen[e] {
			ps.add(file, l.lines[e], fmt.Sprintf("go run ./tools/cmd/mongofork accept '%s'", e.Key), "%s is locked, but no directive of the overlay names it", e)
		}
	}
	return ps
}
