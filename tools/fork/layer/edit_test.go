package layer

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/syntax"
)

// An edit finds its place by the names that stand there.
func TestEdit(t *testing.T) {
	t.Parallel()
	const before = "package pool\n\nfunc (p *Pool) Get() error {\n\t// Begin.\n\tp.n = one\n\tif p.n > one && two {\n" +
		"\t\treturn fail(p.n)\n\t}\n\tp.n = two\n\treturn nil\n}\n"
	for _, tt := range []struct {
		name      string
		edit      plan.Edit
		from, to  string
		wantError string
	}{
		{name: "before", edit: plan.Edit{At: "statement fail", Instead: "log()\n…"}, from: "return fail", to: "log()\n\t\treturn fail"},
		{name: "after", edit: plan.Edit{At: "statement n two #2", Instead: "…\nlog()\n"}, from: "= two\n", to: "= two\n\tlog()\n"},
		{name: "condition", edit: plan.Edit{At: "condition two", Instead: "… && three"}, from: "two {", to: "two && three {"},
		{name: "call", edit: plan.Edit{At: "call fail", Instead: "nil"}, from: "fail(p.n)", to: "nil"},
		{name: "return", edit: plan.Edit{At: "return #2", Instead: "return p.end()"}, from: "return nil", to: "return p.end()"},
		{name: "comment", edit: plan.Edit{At: "comment n one #1", Instead: "// Start."}, from: "Begin", to: "Start"},
		{name: "move", edit: plan.Edit{At: "statement n two #2", Move: "comment n one #1"}, from: "\t// Begin.",
			to: "\tp.n = two\n\t// Begin."},
		{name: "several", edit: plan.Edit{At: "statement n", Instead: "log()\n…"}, wantError: "at 3 places"},
		{name: "none", edit: plan.Edit{At: "call three", Instead: "log()\n…"}, wantError: "at 0 places"},
		{name: "too few", edit: plan.Edit{At: "call fail #2", Instead: "log()\n…"}, wantError: "at 1 places"},
		{name: "no comment", edit: plan.Edit{At: "comment fail", Instead: "log()\n…"}, wantError: "is at 0 places"},
		{name: "no declaration", edit: plan.Edit{In: syntax.Key{Package: "pool", Name: "Put"}, At: "call fail"}, wantError: "there is no function pool Put"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tree := filetree.Tree{"pool/pool.go": []byte(before)}
			if tt.edit.In.Name == "" {
				tt.edit.In = syntax.Key{Package: "pool", Name: "Pool.Get"}
			}
			err := apply(tt.edit, tree)
			if tt.wantError != "" {
				require.ErrorContains(t, err, tt.wantError)
				return
			}
			require.NoError(t, err)
			want := strings.Replace(before, tt.from, tt.to, 1)
			if tt.name == "move" {
				want = strings.Replace(want, "\t}\n\tp.n = two\n", "\t}\n", 1)
			}
			require.Equal(t, want, string(tree["pool/pool.go"]))
		})
	}
}
