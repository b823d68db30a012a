package drift

import (
	"context"
	"errors"
	"fmt"

	"mongofork/tools/command"
	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/upstream"
	"mongofork/tools/fork/uses"
)

// fit lays the overlay's files that are for another version over it, and compiles the result: //fork:base lines bring in files that no
// base has, and declarations that are all as they were need not go with what else is new. What a row tells already is left out.
func (r *Report) fit(ctx context.Context, run command.RunFunc, target *upstream.Module, overlay *plan.Overlay) error {
	p, problems, err := plan.Match(target, overlay)
	if err != nil {
		return err
	}
	told := map[string]bool{}
	for _, row := range r.Rows {
		told[row.Ours] = told[row.Ours] || row.NeedsReview()
	}
	for _, found := range problems {
		if !told[fmt.Sprintf("%s:%d", found.File, found.Line)] {
			r.Misfits = append(r.Misfits, found)
		}
	}
	if r.Uncompiled = len(problems) > 0; r.Uncompiled {
		return nil
	}
	tree, err := assemble.Build(p)
	if refused := (problem.List{}); errors.As(err, &refused) {
		r.Misfits, r.Uncompiled = append(r.Misfits, refused...), true
		return nil
	}
	if err != nil {
		return err
	}
	fork, err := uses.Check(ctx, run, &upstream.Module{Path: target.Path, Version: target.Version, Tree: tree})
	if err != nil {
		return err
	}
	r.Misfits = append(r.Misfits, fork.Errors...)
	return nil
}
