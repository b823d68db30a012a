package plan

import (
	"errors"
	"fmt"
	"slices"

	"mongofork/tools/fork/syntax"
)

// Accept takes over the plan's present fingerprints of the chosen keys, or of all. An entry that no directive names any more is removed
// when it is accepted. Keys that neither a directive nor the lock names are an error.
func (l *Lock) Accept(plan *Plan, keys []syntax.Key, all bool) error {
	now := plan.fingerprints()
	if err := knownKeys(keys, now, l.Entries); err != nil {
		return err
	}
	accepted := func(e Entry) bool { return all || slices.Contains(keys, e.Key) }
	for e := range l.Entries {
		if _, still := now[e]; !still && accepted(e) {
			delete(l.Entries, e)
		}
	}
	for e, hash := range now {
		if accepted(e) {
			l.Entries[e] = hash
		}
	}
	return nil
}

// fingerprints returns the entries that the plan's directives ask for.
func (p *Plan) fingerprints() map[Entry]syntax.Fingerprint {
	now := map[Entry]syntax.Fingerprint{}
	for _, t := range p.Touches {
		now[Entry{t.How, t.Key}] = t.Hash
	}
	for _, r := range p.Removed {
		now[Entry{syntax.Remove, r.Key}] = r.Hash
	}
	for _, w := range p.Watched {
		now[Entry{syntax.Watch, w.Key}] = w.Hash
	}
	return now
}

// knownKeys reports keys that neither a directive nor the lock names.
func knownKeys(keys []syntax.Key, sets ...map[Entry]syntax.Fingerprint) error {
	var errs []error
	for _, key := range keys {
		known := slices.ContainsFunc(sets, func(set map[Entry]syntax.Fingerprint) bool {
			for e := range set {
				if e.Key == key {
					return true
				}
			}
			return false
		})
		if !known {
			errs = append(errs, fmt.Errorf("%s is neither touched nor watched, nor in the lock", key))
		}
	}
	return errors.Join(errs...)
}
