package difference

import (
	"context"
	"fmt"

	"mongofork/tools/gotest"
)

// Rerun runs one test alone, in the fork or in the untouched module, and returns its outcome.
type Rerun func(ctx context.Context, inFork bool, key gotest.Key) (gotest.Outcome, error)

// Unsteady is a regression that a repetition did not confirm.
type Unsteady struct {
	Change
	// Attempts counts the repetitions up to the one that did not confirm it.
	Attempts int
	// PassesInFork is true when the fork passed the repetition, and false when
	// upstream did not pass it either.
	PassesInFork bool
}

// Confirm repeats each regression alone up to the given number of times. It stays
// a regression only if each time the fork does not pass and upstream does not do
// worse than in its first run. Everything else moves to Unsteady.
//
// More than limit regressions are not flakiness: Confirm then repeats nothing
// and returns false.
func (d *Difference) Confirm(ctx context.Context, rerun Rerun, attempts, limit int) (bool, error) {
	if len(d.Regressed) > limit {
		return false, nil
	}
	var confirmed []Change
	for _, change := range d.Regressed {
		unsteady, err := repeat(ctx, rerun, change, attempts)
		if err != nil {
			return false, fmt.Errorf("repeat %s: %w", change.Key, err)
		}
		if unsteady == nil {
			confirmed = append(confirmed, change)
			continue
		}
		d.Unsteady = append(d.Unsteady, *unsteady)
	}
	d.Regressed = confirmed
	return true, nil
}

// repeat returns nil when every repetition confirmed the regression.
func repeat(ctx context.Context, rerun Rerun, change Change, attempts int) (*Unsteady, error) {
	if change.Test == "" {
		// Anything outside the tests, such as a compile error, cannot be repeated alone.
		return nil, nil
	}
	for attempt := 1; attempt <= attempts; attempt++ {
		is, err := rerun(ctx, true, change.Key)
		if err != nil {
			return nil, err
		}
		if is == gotest.Passed {
			return &Unsteady{Change: change, Attempts: attempt, PassesInFork: true}, nil
		}
		was, err := rerun(ctx, false, change.Key)
		if err != nil {
			return nil, err
		}
		if was == gotest.Failed || change.Upstream == gotest.Passed && was != gotest.Passed {
			return &Unsteady{Change: change, Attempts: attempt}, nil
		}
	}
	return nil, nil
}
