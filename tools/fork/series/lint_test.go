package series

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// lintReport is what golangci-lint writes about findings "linter file line text".
func lintReport(findings ...string) string {
	var issues []string
	for _, f := range findings {
		part := strings.SplitN(f, " ", 4)
		issues = append(issues, fmt.Sprintf(`{"FromLinter":%q,"Text":%q,"Pos":{"Filename":%q,"Line":%s}}`, part[0], part[3], part[1], part[2]))
	}
	return `{"Issues":[` + strings.Join(issues, ",") + `],"Report":{}}` + "\n"
}

// What upstream's tree has as well is no finding, wherever it has moved to; one more of the same is.
func TestSeriesLint(t *testing.T) {
	t.Parallel()
	before := []string{"unused a/a.go 3 func f is unused", "revive a/a.go 9 exported G has no comment"}
	const none = "1 packages linted, with 0 findings that etc/series/series.yaml accepts"
	for _, tt := range []struct {
		name string
		now  []string
		said string
		want string
	}{
		{name: "the same, elsewhere", now: []string{"unused a/a.go 7 func f is unused"}, said: none},
		{name: "nothing", said: none},
		{name: "accepted", now: []string{"unused a/old.go 7 func old is unused"}, said: "1 packages linted, with 1 findings that etc/series/series.yaml accepts"},
		{name: "another", now: append(before, "unused a/b.go 1 func h is unused"), want: "a/b.go: func h is unused (unused)"},
		{name: "twice", now: append(before, "unused a/a.go 20 func f is unused"), want: "a/a.go: func f is unused (unused)"},
		{name: "another linter", now: []string{"staticcheck a/a.go 3 func f is unused"}, want: "a/a.go: func f is unused (staticcheck)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			now := before
			accepted := []AcceptedFinding{{File: "a/old.go", Text: "func old is unused", Reason: "it goes later"}}
			l := linter{tool: "golangci-lint@v2", accepted: accepted, goTool: func(args ...string) (string, error) {
				require.Equal(t, []string{"run", "golangci-lint@v2", "run"}, args[:3])
				require.Equal(t, "./a", args[len(args)-1])
				return lintReport(now...), nil
			}}
			require.NoError(t, l.begin([]string{"./a"}))
			now = tt.now
			said, err := l.check([]string{"./a"})
			if tt.want != "" {
				require.EqualError(t, err, "upstream's linters find what they do not find in upstream's tree: "+tt.want)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.said, said)
		})
	}

	broken := linter{tool: "golangci-lint@v2", goTool: func(...string) (string, error) { return "no configuration", nil }}
	require.ErrorContains(t, broken.begin([]string{"./a"}), "read what golangci-lint found")
}
