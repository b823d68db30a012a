package series

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/command"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/forktest"
	"mongofork/tools/fork/plan"
)

// An edit finds its place by the names that stand there.
func TestEdit(t *testing.T) {
	t.Parallel()
	const before = "package pool\n\nfunc (p *Pool) Get() error {\n\t// Begin.\n\tp.n = one\n\tif p.n > one && two {\n" +
		"\t\treturn fail(p.n)\n\t}\n\tp.n = two\n\treturn nil\n}\n"
	for _, tt := range []struct {
		name      string
		edit      Edit
		from, to  string
		wantError string
	}{
		{name: "before", edit: Edit{At: "statement fail", Instead: "log()\n…"}, from: "return fail", to: "log()\n\t\treturn fail"},
		{name: "after", edit: Edit{At: "statement n two #2", Instead: "…\nlog()\n"}, from: "= two\n", to: "= two\n\tlog()\n"},
		{name: "condition", edit: Edit{At: "condition two", Instead: "… && three"}, from: "two {", to: "two && three {"},
		{name: "call", edit: Edit{At: "call fail", Instead: "nil"}, from: "fail(p.n)", to: "nil"},
		{name: "return", edit: Edit{At: "return #2", Instead: "return p.end()"}, from: "return nil", to: "return p.end()"},
		{name: "comment", edit: Edit{At: "comment n one #1", Instead: "// Start."}, from: "Begin", to: "Start"},
		{name: "move", edit: Edit{At: "statement n two #2", Move: "comment n one #1"}, from: "\t// Begin.",
			to: "\tp.n = two\n\t// Begin."},
		{name: "several", edit: Edit{At: "statement n", Instead: "log()\n…"}, wantError: "at 3 places"},
		{name: "none", edit: Edit{At: "call three", Instead: "log()\n…"}, wantError: "at 0 places"},
		{name: "too few", edit: Edit{At: "call fail #2", Instead: "log()\n…"}, wantError: "at 1 places"},
		{name: "no comment", edit: Edit{At: "comment fail", Instead: "log()\n…"}, wantError: "is at 0 places"},
		{name: "no declaration", edit: Edit{In: "pool Put", At: "call fail"}, wantError: "there is no pool Put"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tree := filetree.Tree{"pool/pool.go": []byte(before)}
			if tt.edit.In == "" {
				tt.edit.In = "pool Pool.Get"
			}
			err := tt.edit.apply(tree)
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

// There is a fix for each report of a defect, on one of the bases; it brings a test, and the report says how small it is.
func TestFixes(t *testing.T) {
	t.Parallel()
	root := forktest.Repository(t)
	reports, err := filepath.Glob(filepath.Join(root, "docs", "upstream-defects", "[a-z]*.md"))
	require.NoError(t, err)
	var reported, fixed []string
	for _, report := range reports {
		reported = append(reported, strings.TrimSuffix(filepath.Base(report), ".md"))
	}
	all, err := ReadFixes(root, "")
	require.NoError(t, err)
	for _, fix := range all {
		fixed = append(fixed, fix.Name)
	}
	require.Equal(t, reported, fixed)
	forktest.EachBase(t, func(t *testing.T, root string, p *plan.Plan) {
		fixes, err := ReadFixes(root, p.Module.Version)
		require.NoError(t, err)
		require.NotEmpty(t, fixes)
		for _, fix := range fixes {
			patch, err := fix.Patch(t.Context(), "A Tester <tester@localhost>", "T-1", p.Module)
			require.NoError(t, err)
			code, tests := lines(t, patch)
			require.NotContains(t, tests, "+0", fix.Name)
			report, err := os.ReadFile(filepath.Join(root, "docs", "upstream-defects", fix.Name+".md"))
			require.NoError(t, err)
			require.Contains(t, string(report), "("+code+" lines of code)", fix.Name)
		}
	})
}

// lines says how many lines a patch adds and removes, of code and of tests.
func lines(t *testing.T, patch []byte) (code, tests string) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "fix.patch"), patch, 0o600))
	stat, err := command.Output(t.Context(), dir, nil, "git", "apply", "--numstat", "fix.patch")
	require.NoError(t, err)
	var added, removed [2]int
	for line := range strings.Lines(string(stat)) {
		more, less, name, of := 0, 0, "", 0
		_, err := fmt.Sscan(line, &more, &less, &name)
		require.NoError(t, err)
		if strings.HasSuffix(name, "_test.go") {
			of = 1
		}
		added[of], removed[of] = added[of]+more, removed[of]+less
	}
	return fmt.Sprintf("+%d -%d", added[0], removed[0]), fmt.Sprintf("+%d -%d", added[1], removed[1])
}

// A fix is written as one patch, without a trace of how it was made.
func TestFixPatch(t *testing.T) {
	t.Parallel()
	files := filetree.Tree{Fixes + "/count.txtar": append(stepFile("Count", "base: '>=v2.0.0'\nedits:\n"+
		"  - {in: pool Pool.Put, at: statement used, instead: \"…\\np.returned++\"}\n"), "-- pool/count.go --\npackage pool\n\n"+
		"// Pool counts.\n//\n//fork:extend it counts\ntype Pool struct {\n\treturned int\n}\n"...)}
	root, p := forktest.Plan(t, files)
	fixes, err := ReadFixes(root, p.Module.Version)
	require.NoError(t, err)
	require.Len(t, fixes, 1)
	patch, err := fixes[0].Patch(t.Context(), "A Tester <tester@localhost>", "T-1", p.Module)
	require.NoError(t, err)
	text := string(patch)
	for _, want := range []string{"Subject: [PATCH] T-1 Count\n", "+\treturned int\n", "+\tp.returned++\n"} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "fork:")
	none, err := ReadFixes(root, "v1.9.0")
	require.NoError(t, err)
	require.Empty(t, none)
}
