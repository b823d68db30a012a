package drift

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/forktest"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/syntax"
	"mongofork/tools/fork/upstream"
)

// against compares a plan with another module, for which the overlay is that of a repository.
func against(t *testing.T, root string, p *plan.Plan, tree filetree.Tree) *Report {
	t.Helper()
	target, err := upstream.New(p.Module.Path, "v2.2.0", tree)
	require.NoError(t, err)
	report, err := Compare(t.Context(), root, p, target)
	require.NoError(t, err)
	return report
}

// The files that are for the other version are laid over it and compiled, though no base has them, and though all that the base's
// files use is there as it was.
func TestFit(t *testing.T) {
	t.Parallel()
	const other = "//fork:base >=v2.2.0\n\npackage pool\n\n"
	for name, tc := range map[string]struct {
		file, change, want string
		uncompiled         bool
	}{
		"fits":                   {file: "func later(p *Pool) int { return p.used }\n"},
		"uses what is not there": {file: "func later(p *Pool) int { return p.free }\n", want: "build/compiled/pool/later.go:3: p.free undefined"},
		"touches what is not there": {file: "//fork:replace x\nfunc absent() {}\n", uncompiled: true,
			want: "pool/later.go:5: //fork:replace absent: upstream v2.2.0 has no such declaration in pool"},
		"is in a later Go": {file: "func later() int { return min(1, 2) }\n", want: "min requires go1.21 or later"},
		"is called otherwise": {file: "func later(p *Pool) int { return p.used }\n", change: "func calls() { retryable() }",
			want: "pool/calls.go:3: not enough arguments in call to retryable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, p := forktest.Plan(t, filetree.Tree{"pool/later.go": []byte(other + tc.file),
				"pool/overlay.go": []byte("package pool\n\n//fork:replace always\nfunc retryable(err error) bool { " +
					"return true }\n")})
			tree := forktest.Tree()
			tree["pool/calls.go"] = []byte("package pool\n\n" + tc.change + "\n")
			report := against(t, root, p, tree)
			for _, row := range report.Rows {
				require.Equal(t, "same", row.Class(), row.Subject)
			}
			require.Equal(t, tc.uncompiled, report.Uncompiled)
			if tc.want == "" {
				require.Empty(t, report.Misfits)
				return
			}
			require.Len(t, report.Misfits, 1)
			require.Contains(t, report.Misfits.Error(), tc.want)
		})
	}
}

// What a later release of the driver could bring is told, each once, for the overlay of this repository; what is no news is not.
func TestPlanted(t *testing.T) {
	t.Parallel()
	forktest.EachBase(t, func(t *testing.T, root string, p *plan.Plan) {
		tree := maps.Clone(p.Module.Tree)
		insert := func(pkg, name, code string) { // at the beginning of a function
			d := p.Module.Lookup(syntax.Key{Package: pkg, Name: name})[0]
			at := d.File.Offset(d.Func.Body.Lbrace) + 1
			tree[d.File.Path] = slices.Concat(d.File.Src[:at], []byte("\n"+code+"\n"), d.File.Src[at:])
		}
		insert("x/mongo/driver", "Operation.Execute", "_ = ctx.Err()")
		insert("mongo", "newClient", "_ = opts")
		newer := func(name, was, is string) {
			changed := regexp.MustCompile(was).ReplaceAll(tree[name], []byte(is))
			require.NotEqual(t, string(tree[name]), string(changed), name)
			tree[name] = changed
		}
		newer("go.mod", `(?m)^go .*$`, "go 1.99")
		newer("go.mod", `(golang.org/x/sync) v.*`, "$1 v0.99.0")
		newer("go.mod", `(?m)^require \(`, "require (\n\texample.com/news v1.0.0")
		newer("version/version.go", regexp.QuoteMeta(p.Module.Version[1:]), "2.99.0")
		newer("mongo/options/clientoptions.go", `(type ClientOptions struct \{)`, "$1\n\tPatience int\n")
		newer("x/mongo/driver/session/client_session.go", `func \(c \*Client\) ClearPinnedResources`, "func (c *Client) Unpin")
		for name, text := range map[string]string{
			"mongo/archive.go":             "package mongo\n\nfunc (coll *Collection) Archive() {}\n\ntype Archive struct{}\n",
			"internal/archive/archive.go":  "package archive\n\nfunc New() string { return `patienceMS` }\n",
			"x/mongo/driver/label.go":      "package driver\n\nconst unable = \"UnableToServeError\"\n",
			"x/mongo/driver/label_test.go": "package driver\n\nconst OfTests = \"OfTests\"\n",
			"mongo/archive_command.go":     "package mongo\n\nfunc command() string { return \"archiveCollection\" }\n",
		} {
			tree[name] = []byte(text)
		}
		target, err := upstream.New(p.Module.Path, "v2.99.0", tree)
		require.NoError(t, err)
		report := compare(p, target)
		var rows []string
		for _, r := range report.Rows {
			for _, ours := range r.Ours { // in this repository, where the declaration, the removal or the edit stands
				at := regexp.MustCompile(`^[a-z]+ of (.*):(\d+)$`).FindStringSubmatch(ours)
				text, err := os.ReadFile(filepath.Join(root, at[1]))
				require.NoError(t, err)
				n, _ := strconv.Atoi(at[2])
				name := r.Subject.Name[strings.LastIndex(r.Subject.Name, ".")+1:]
				require.Regexp(t, `^- |\b`+name+`\b`, strings.Split(string(text), "\n")[n-1], ours)
			}
			if r.Class() != "same" {
				rows = append(rows, r.Class()+" "+r.Subject.String())
			}
		}
		require.ElementsMatch(t, []string{"changed x/mongo/driver Operation.Execute", "changed mongo newClient",
			"changed mongo/options ClientOptions", "gone x/mongo/driver/session Client.ClearPinnedResources"}, rows)
		added := regexp.MustCompile(` \(.*|: .*`).ReplaceAllString(strings.Join(report.Added, "\n"), "")
		require.Equal(t, []string{`"UnableToServeError"`, `"archiveCollection"`, `"patienceMS"`, "go.mod", "mongo Archive",
			"mongo Collection.Archive", "x/mongo/driver/session Client.Unpin"}, slices.Compact(strings.Split(added, "\n")))
	})
}
