package fork

import (
	"fmt"
	"strings"

	"golang.org/x/mod/semver"

	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/series"
	"mongofork/tools/fork/upstream"
)

// inCheckout adds to problems with a commit the steps of the series that they are in the way of. The lock of a release accepts
// nothing of a commit: there the cure is to see what changed.
func (p *Project) inCheckout(plan *plan.Plan, problems problem.List) (problem.List, error) {
	checkout := plan.Module.Checkout
	if checkout == nil || len(problems) == 0 {
		return problems, nil
	}
	steps, err := series.NewFinder(p.Root, plan)
	if err != nil {
		return nil, err
	}
	const program = "go run ./tools/cmd/mongofork"
	here := fmt.Sprintf("%s --base %s --source %s", program, p.Base, checkout.Dir)
	for i := range problems {
		problem := &problems[i]
		if step := steps.OfLine(problem.File, problem.Line); step != "" {
			problem.Message += " [" + step + "]"
		}
		switch {
		case acceptsCommits(p.Base):
			problem.Mend = strings.ReplaceAll(problem.Mend, program, here)
		case strings.Contains(problem.Mend, program+" accept "):
			problem.Mend = here + " drift -v shows the change; adapt ours"
		}
	}
	return problems, nil
}

// acceptsCommits reports whether the lock of a base may be about a commit. The locks of releases are about the released files.
func acceptsCommits(base string) bool { return semver.Prerelease(base) != "" }

// RefuseAccept returns an error if the source is a commit and the lock that of a release.
func (p *Project) RefuseAccept() error {
	if _, commit := p.Source.(*upstream.Checkout); commit && !acceptsCommits(p.Base) {
		return fmt.Errorf("the lock of %s is about the released files: leave --source out, or name a base for commits, such as --base %s-0.main", p.Base, p.Base)
	}
	return nil
}
