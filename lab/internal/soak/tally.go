package soak

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Tally adds up the applications' findings.
type Tally struct {
	arms  []Arm
	sums  []*Report // by arm
	first []string  // an example of each violation
}

// NewTally returns an empty tally.
func NewTally(arms []Arm) *Tally {
	t := &Tally{arms: arms}
	for range arms {
		t.sums = append(t.sums, newReport())
	}
	return t
}

// Add adds the reports of a seed, in the order of the arms.
func (t *Tally) Add(seed uint64, reports []*Report) {
	for i, r := range reports {
		sum := t.sums[i]
		sum.Operations += r.Operations
		sum.Most = max(sum.Most, r.Most)
		sum.Held += r.Held
		for class, n := range r.Errors {
			sum.Errors[class] += n
		}
		for _, kind := range slices.Sorted(maps.Keys(r.Violations)) {
			v := r.Violations[kind]
			if sum.Violations[kind].Count == 0 {
				t.first = append(t.first, fmt.Sprintf("%s, seed %d, the first of %s: %.1000s", t.arms[i].Name, seed, kind,
					v.Example))
			}
			sum.Violations[kind] = Violation{Count: sum.Violations[kind].Count + v.Count}
		}
	}
}

// Failed reports whether an application that has to pass found a violation.
func (t *Tally) Failed() bool {
	for i, arm := range t.arms {
		if !arm.Reference && len(t.sums[i].Violations) > 0 {
			return true
		}
	}
	return false
}

// Render returns the tables, side by side, and an example of each violation, as Markdown.
func (t *Tally) Render() string {
	var b strings.Builder
	t.row(&b, "", func(i int) any { return t.arms[i].Name })
	t.row(&b, "---", func(int) any { return "---:" })
	t.row(&b, "operations", func(i int) any { return t.sums[i].Operations })
	t.row(&b, "commands of one operation, at most", func(i int) any { return t.sums[i].Most })
	t.row(&b, "commits while the primary died", func(i int) any { return t.sums[i].Held })
	for _, kind := range kinds {
		t.row(&b, kind, func(i int) any { return t.sums[i].Violations[kind].Count })
	}
	classes := make(map[string]int64)
	for _, sum := range t.sums {
		maps.Copy(classes, sum.Errors)
	}
	for _, class := range slices.Sorted(maps.Keys(classes)) {
		t.row(&b, "documented errors: "+class, func(i int) any { return t.sums[i].Errors[class] })
	}
	return b.String() + "\n" + strings.Join(append(t.first, ""), "\n")
}

// row writes a row with one value for each application.
func (t *Tally) row(b *strings.Builder, title string, of func(arm int) any) {
	fmt.Fprintf(b, "| %s |", title)
	for i := range t.arms {
		fmt.Fprintf(b, " %v |", of(i))
	}
	b.WriteString("\n")
}
