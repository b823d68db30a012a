package series

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/forktest"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/syntax"
)

// A series has one commit for each layer that changes something, and each holds what its layer brings and nothing else. A function that
// two layers wrap is one function in each.
func TestSeries(t *testing.T) {
	t.Parallel()
	s, err := New(forktest.Plan(t, seriesOverlay()))
	require.NoError(t, err)
	patches, tree, err := s.Patches(t.Context(), "A Tester <tester@localhost>")
	require.NoError(t, err)
	require.Equal(t, []string{"0000-cover-letter.patch", "0001-T-1-Have-a-limit.patch", "0002-T-1-Count-returns.patch",
		"0003-T-1-Count-calls.patch", "0004-T-1-Count-more.patch"}, patches.Paths())
	var texts []string
	for _, name := range patches.Paths() {
		texts = append(texts, string(patches[name]))
	}
	letter, first, second, third, last := texts[0], texts[1], texts[2], texts[3], texts[4]
	require.Contains(t, letter, "Subject: [PATCH 0/4] T-1 Limits\n\nDear all,\n\n  T-1 Have a limit\n  T-1 Count returns\n  T-1 Count calls\n")
	require.Contains(t, first,
		"Subject: [PATCH 1/4] T-1 Have a limit\n\nIt was wrong.\n\nIt is right now.\n\nUsers: Nothing.\n\nSource: None.\n\nTests: Its own.\n---\n")
	require.Contains(t, first, "+const limit = 3\n")
	require.NotContains(t, first, "fork:")
	require.Contains(t, second, "+\tp.returned++\n")
	require.Contains(t, third, "\n+\tcalls++\n+\n \t// Comments in a body have to go with it.\n")
	require.Contains(t, last, "+\tmore++\n+\n \tcalls++\n")
	require.NotContains(t, strings.Join(texts, ""), "upstream")
	require.NotContains(t, third, "doGet")
	require.NotContains(t, tree, "pool/own.go", "what is left out")
	require.Contains(t, tree, "pool/count.go", "under its name in upstream's tree")
	require.NotContains(t, tree, "pool/get.go")

	again, _, err := s.Patches(t.Context(), "A Tester <tester@localhost>")
	require.NoError(t, err)
	require.Equal(t, patches, again, "the same sources give the same bytes")
}

// What a message does not say is a problem, and nothing is written.
func TestSeriesRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, file, text, want string
	}{
		{name: "no message", file: plan.FoldersFile, text: "more: pool\n", want: `the layer "more" has no message`},
		{name: "no section", file: "etc/series/limits.md", text: "# Count\n\nIt is.\n", want: "no paragraph begins with **Tests.**"},
		{name: "no title", file: "etc/series/limits.md", text: "Count\n", want: "the first line is not # and a title of"},
		{name: "long title", file: "etc/series/limits.md", text: string(message(strings.Repeat("long ", 13))),
			want: "is not # and a title of at most 60 bytes"},
		{name: "versions", file: "etc/series/limits.md", text: string(message("Count")) + "\n[=v2] It was.\n", want: "base term"},
		{name: "unknown field", file: "etc/series/series.yaml", text: "titel: x\n", want: "field titel not found"},
		{name: "paragraph", file: "fixes/none/pool/open.go", text: "package pool\n\n// Open is ours.\n//\n//fork:replace ours\nfunc Open(cfg Config) *Pool { return nil }\n",
			want: "the comment of pool Open has no paragraph 0"},
		{name: "name taken", file: "etc/series/series.yaml",
			text: "left: [pool/own.go]\nfiles: {pool/get.go: pool/pool.go}\n",
			want: "pool/get.go cannot be named pool/pool.go: there is a file of this name"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			files := seriesOverlay()
			files[tt.file] = []byte(tt.text)
			root, p := forktest.Plan(t, files)
			s, err := New(root, p)
			if err == nil {
				_, _, err = s.Patches(t.Context(), "A Tester <tester@localhost>")
			}
			require.ErrorContains(t, err, tt.want)
		})
	}
}

// The repository's own series: it can be made on every base, and its last tree tells nothing of how it was made. Functions keep their
// comments, and at most ten are divided into two: one of these has the comment.
func TestSeriesOfEveryBase(t *testing.T) {
	t.Parallel()
	forktest.EachBase(t, func(t *testing.T, root string, p *plan.Plan) {
		s, err := New(root, p)
		require.NoError(t, err, "go run ./tools/cmd/mongofork series --base %s", p.Module.Version)
		for _, step := range s.Steps {
			require.NotRegexp(t, tellsInMessage, step.Message, step.Layer.Name)
		}
		trees, _, err := s.trees()
		require.NoError(t, err)
		pristine, last := trees[0], trees[len(trees)-1]
		for name, data := range last {
			_, was := pristine[name]
			require.False(t, !was && tellsInName.MatchString(name), name)
			require.LessOrEqual(t, len(tells.FindAll(data, -1)), len(tells.FindAll(pristine[name], -1)), name)
		}
		had, have, divided := comments(t, pristine), comments(t, last), 0
		for key, comment := range have {
			at := strings.LastIndexAny(key, " .") + 1
			other := key[:at] + "do" + strings.ToUpper(key[at:at+1]) + key[at+1:]
			if _, was := had[other]; !was && have[other] != "" {
				divided++
			} else {
				require.True(t, strings.HasPrefix(comment, had[key]), "%s\n%s", key, comment)
			}
		}
		require.LessOrEqual(t, divided, 10)
	})
}

// comments returns the comments of a tree's functions.
func comments(t *testing.T, tree filetree.Tree) map[string]string {
	t.Helper()
	all := map[string]string{}
	for name, data := range tree {
		if !syntax.IsGoFile(name) {
			continue
		}
		source, err := syntax.Parse(name, data)
		require.NoError(t, err)
		for _, d := range source.Decls {
			if d.Func != nil {
				all[name+" "+d.Key.Name] = d.Func.Doc.Text()
			}
		}
	}
	return all
}

// tells finds the words for how this repository is made, and tellsInName also its names of files for single bases, and the words of these
// for the specification's revisions.
var (
	tells       = regexp.MustCompile(`(?i)fork:|mongofork|upstream|overlay|_20[0-9][0-9]_`)
	tellsInName = regexp.MustCompile(`(?i)upstream|overlay|fork|revision|_20[0-9][0-9]_`)
)

// tellsInMessage finds such words where the specification's revisions have a name.
var tellsInMessage = regexp.MustCompile(`(?i)upstream|overlay|\bfork|\bbases?\b`)
