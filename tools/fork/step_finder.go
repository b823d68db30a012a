package fork

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/semver"

	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/upstream"
)

// stepFinder says which step of the series brings what of the overlay.
type stepFinder struct{ series *Series }

// stepFinder reads the steps; without any, nothing has a place. What is wrong with them is for those who write the series.
func (p *Project) stepFinder(plan *plan.Plan) (stepFinder, error) {
	if _, err := os.Stat(filepath.Join(p.Root, filepath.FromSlash(SeriesFolder))); err != nil {
		return stepFinder{}, nil
	}
	s, err := p.placedSeries(plan, &problem.List{})
	return stepFinder{s}, err
}

// OfDecl names the step that brings a declaration.
func (p stepFinder) OfDecl(d *plan.Decl) string {
	if p.series == nil {
		return ""
	}
	if at, ok := p.series.decls[d.Key]; ok {
		return p.name(at)
	}
	return p.OfFile(d.File.Path)
}

// OfFile names the step that brings a file.
func (p stepFinder) OfFile(file string) string {
	if p.series == nil {
		return ""
	}
	if at, ok := p.series.files[file]; ok {
		return p.name(at)
	}
	return "none"
}

func (p stepFinder) name(step int) string {
	if step == p.series.never() {
		return "left out"
	}
	return p.series.Steps[step].Name
}

// OfLine names the step that brings the directive or declaration in a line of a file.
func (p stepFinder) OfLine(file string, line int) string {
	if p.series == nil {
		return ""
	}
	if f := p.series.file(file); f != nil && f.Source != nil {
		for _, d := range f.Decls {
			start, end := d.Extent()
			if f.Source.LineAt(start) <= line && line <= f.Source.LineAt(end) {
				return p.OfDecl(d)
			}
		}
	}
	return p.OfFile(file)
}

// inCheckout adds to problems with a commit the steps of the series that they are in the way of. The lock of a release accepts
// nothing of a commit: there the cure is to see what changed.
func (p *Project) inCheckout(plan *plan.Plan, problems problem.List) (problem.List, error) {
	checkout := plan.Module.Checkout
	if checkout == nil || len(problems) == 0 {
		return problems, nil
	}
	steps, err := p.stepFinder(plan)
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
