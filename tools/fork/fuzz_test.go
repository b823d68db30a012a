package fork

import (
	"errors"
	"testing"

	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
	"mongofork/tools/fork/upstream"
)

func FuzzParseDirective(f *testing.F) {
	for _, seed := range []string{"//fork:replace a b", "//fork:watch A.B x/y.Z", "//fork:base >=v2.6.0 <v3.0.0", "//fork:", "// fork:wrap", "//fork:base <"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		d, ok, err := syntax.ParseDirective(line)
		if !ok || err != nil {
			return
		}
		again, ok, err := syntax.ParseDirective(d.String())
		if !ok || err != nil {
			t.Fatalf("%q was read from %q, but cannot be read again: %v", d, line, err)
		}
		if again.String() != d.String() {
			t.Fatalf("%q reads as %q", d, again)
		}
	})
}

// Whatever the overlay's author writes, reading it must not panic, and what is
// accepted must come out of a build unchanged or spliced into valid Go.
func FuzzOverlayFile(f *testing.F) {
	for _, seed := range []string{
		"package pool\n\nfunc added() {}\n",
		"package pool\n\n//fork:replace x\nfunc retryable(err error) bool { return true }\n",
		"package pool\n\n//fork:wrap x\nfunc taken() { upstreamTaken() }\n",
		"package pool\n\n//fork:extend x\ntype Pair struct{ a int }\n",
		"package pool\n\n//fork:watch Open\n",
		"//fork:base >=v2.0.0\n\npackage pool\n",
		"package pool\n\nimport \"time\"\n\n//fork:extend x\ntype Empty struct {\n\tt time.Time // why\n}\n",
		"package pool\n\n//fork:replace x\ntype Handle = int // comment",
		"package pool\n\n//fork:replace x\nvar single = func() int { return 1 }()\n",
	} {
		f.Add(seed)
	}
	m, err := driverVersions(f).Module(f.Context(), testModule, testBase)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, code string) {
		accepted := acceptedPlan(m, code)
		if accepted == nil {
			return
		}
		for _, lay := range []func(*plan.Plan) (*assemble.Result, error){assemble.Build, assemble.InPlace} {
			a, err := lay(accepted)
			if errors.As(err, &problem.List{}) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			for name, data := range a.Tree {
				if syntax.IsGoFile(name) {
					if _, err := syntax.Parse(name, data); err != nil {
						t.Fatalf("%s does not parse: %v\n%s", name, err, data)
					}
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
	file := o.ReadFile("pool/overlay.go", []byte(code), testBase, &problems)
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
