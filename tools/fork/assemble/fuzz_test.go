package assemble

import (
	"errors"
	"testing"

	"mongofork/tools/fork/forktest"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
	"mongofork/tools/fork/upstream"
)

// Whatever the overlay's author writes, reading it must not panic, and what is
// accepted must come out of a build unchanged or spliced into valid Go.
func FuzzOverlayFile(f *testing.F) {
	for _, seed := range []string{
		"package pool\n\nfunc added() {}\n",
		"package pool\n\n//fork:replace x\nfunc retryable(err error) bool { return true }\n",
		"package pool\n\n//fork:wrap x\nfunc taken() { upstreamTaken() }\n",
		"package pool\n\n//fork:extend x\ntype Pair struct{ a int }\n",
		"package pool\n\n//fork:remove taken it goes\n",
		"//fork:base >=v2.0.0\n\npackage pool\n",
		"package pool\n\nimport \"time\"\n\n//fork:extend x\ntype Empty struct {\n\tt time.Time // why\n}\n",
		"package pool\n\n//fork:replace x\ntype Handle = int // comment",
		"package pool\n\n//fork:replace x\nvar single = func() int { return 1 }()\n",
	} {
		f.Add(seed)
	}
	m, err := forktest.Versions(f).Module(f.Context(), forktest.Module, forktest.Base)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, code string) {
		accepted := acceptedPlan(m, code)
		if accepted == nil {
			return
		}
		a, err := Build(accepted)
		if errors.As(err, &problem.List{}) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		for name, data := range a {
			if syntax.IsGoFile(name) {
				if _, err := syntax.Parse(name, data); err != nil {
					t.Fatalf("%s does not parse: %v\n%s", name, err, data)
				}
			}
		}
	})
}

// acceptedPlan matches an overlay of one file; nil if anything about it is
// refused.
func acceptedPlan(m *upstream.Module, code string) *plan.Plan {
	o := &plan.Overlay{}
	var problems problem.List
	file := o.ReadFile("pool/overlay.go", []byte(code), forktest.Base, &problems)
	if file == nil || len(problems) > 0 {
		return nil
	}
	o.Files = []*plan.File{file}
	matched, problems, err := plan.Match(m, o)
	if err != nil || len(problems) > 0 {
		return nil
	}
	return matched
}
