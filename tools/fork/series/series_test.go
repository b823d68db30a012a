package series

import (
	"fmt"
	"go/format"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

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
	s, err := New(forktest.Plan(t, forktest.Archive(t, "overlay.txtar")))
	require.NoError(t, err)
	patches, tree, err := s.Patches(t.Context(), "A Tester <tester@localhost>", time.Unix(1e9, 0))
	require.NoError(t, err)
	require.Equal(t, []string{"0000-cover-letter.patch", "0001-T-1-Have-a-limit.patch", "0002-T-1-Count-returns.patch",
		"0003-T-1-Count-calls.patch", "0004-T-1-Count-more.patch"}, patches.Paths())
	var texts []string
	for _, name := range patches.Paths() {
		texts = append(texts, string(patches[name]))
	}
	letter, first, second, third, last := texts[0], texts[1], texts[2], texts[3], texts[4]
	const date = "Date: Sun, 9 Sep 2001 01:46:40 +0000\n"
	require.Contains(t, letter, date+
		"Subject: [PATCH 0/4] T-1 Limits\n\nDear all,\n\n  T-1 Have a limit\n  T-1 Count returns\n  T-1 Count calls\n")
	require.Contains(t, first, date+
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
}

// What a message does not say is a problem, and nothing is written.
func TestSeriesRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, file, text, want string
	}{
		{name: "no message", file: plan.FoldersFile, text: "more: pool\n", want: `the layer "more" has no message`},
		{name: "no section", file: "etc/series/limits.md", text: "# Count\n\nIt is.\n", want: "no paragraph begins with **Tests.**"},
		{name: "versions", file: "etc/series/limits.md", text: "…\n[=v2] It was.\n", want: "base term"},
		{name: "paragraph", file: "fixes/none/pool/open.go", text: "package pool\n\n// Open is ours.\n//\n//fork:replace ours\nfunc Open(cfg Config) *Pool { return nil }\n",
			want: "the comment of pool Open has no paragraph 0"},
		{name: "name taken", file: "etc/series/series.yaml", text: "left: [pool/own.go]\nfiles: {pool/get.go: pool/pool.go}\n",
			want: "pool/get.go cannot be named pool/pool.go: there is a file of this name"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			files := forktest.Archive(t, "overlay.txtar")
			text, more := strings.CutPrefix(tt.text, "…") // what is there
			if more {
				text = string(files[tt.file]) + text
			}
			files[tt.file] = []byte(text)
			root, p := forktest.Plan(t, files)
			s, err := New(root, p)
			if err == nil {
				_, _, err = s.Patches(t.Context(), "A Tester <tester@localhost>", time.Unix(1e9, 0))
			}
			require.ErrorContains(t, err, tt.want)
		})
	}
}

// The repository's own series: it can be made on every base, and its last tree tells nothing of how it was made. Functions keep their
// comments, and at most ten are divided into two: one of these has the comment. The patch of each fix has the size that its report says, and
// the test that it names.
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
			if !was && syntax.IsGoFile(name) {
				require.True(t, strings.HasPrefix(string(data), "// Copyright (C) MongoDB, Inc."), name)
			}
			require.LessOrEqual(t, len(tells.FindAll(data, -1)), len(tells.FindAll(pristine[name], -1)), name)
		}
		had, have, divided := comments(t, pristine), comments(t, last), 0
		for key, comment := range have {
			at := strings.LastIndexAny(key, " .") + 1
			other := key[:at] + "do" + strings.ToUpper(key[at:at+1]) + key[at+1:]
			file, name, _ := strings.Cut(key, " ")
			if _, was := had[other]; !was && have[other] != "" {
				divided++
			} else if s.Options.OursAlone(path.Dir(file) + " " + name) {
				require.NotContains(t, comment, had[key])
			} else {
				require.True(t, strings.HasPrefix(comment, had[key]), "%s\n%s", key, comment)
			}
		}
		require.LessOrEqual(t, divided, 10)
		patches, err := s.FixPatches(t.Context(), "A Tester <tester@localhost>", time.Unix(1e9, 0))
		require.NoError(t, err)
		require.NotEmpty(t, patches)
		for name, patch := range patches {
			added, removed := 0, 0
			for _, file := range strings.Split(string(patch), "\ndiff --git ")[1:] {
				if header, hunks, _ := strings.Cut(file, "\n@@"); !strings.Contains(header, "_test.go\n") {
					added, removed = added+strings.Count(hunks, "\n+"), removed+strings.Count(hunks, "\n-")
				}
			}
			report, err := os.ReadFile(filepath.Join(root, "docs", "upstream-defects", strings.TrimSuffix(name, ".patch")+".md"))
			require.NoError(t, err)
			require.Contains(t, string(report), fmt.Sprintf("(+%d -%d lines of code)", added, removed), name)
			shows := regexp.MustCompile("`(Test\\w+)`").FindSubmatch(report)
			require.NotNil(t, shows, name)
			require.Contains(t, string(patch), "\n+func "+string(shows[1])+"(", name)
		}
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
	tells       = regexp.MustCompile(`(?i)fork:|mongofork|upstream|overlay|layers/|_20[0-9][0-9]_`)
	tellsInName = regexp.MustCompile(`(?i)upstream|overlay|fork|revision|_20[0-9][0-9]_`)
)

// tellsInMessage finds such words where the specification's revisions have a name.
var tellsInMessage = regexp.MustCompile(`(?i)upstream|overlay|\bfork|\bbases?\b`)

// A report has a fix, or else names a test of the lab.
func TestFixes(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	reports, err := filepath.Glob(filepath.Join(root, "docs", "upstream-defects", "[a-z]*.md"))
	require.NoError(t, err)
	labTests, err := filepath.Glob(filepath.Join(root, "lab", "virtual", "*_test.go"))
	require.NoError(t, err)
	for _, report := range reports {
		text, err := os.ReadFile(report)
		require.NoError(t, err)
		fixes, err := filepath.Glob(filepath.Join(root, "layers", "*", strings.TrimSuffix(filepath.Base(report), ".md"), "README.md"))
		require.NoError(t, err)
		require.Equal(t, strings.Contains(string(text), "mongofork series --fixes"), len(fixes) > 0, report)
		if len(fixes) == 0 {
			shows := regexp.MustCompile("`(Test\\w+)").FindSubmatch(text)
			require.NotNil(t, shows, report)
			require.True(t, slices.ContainsFunc(labTests, func(file string) bool {
				test, err := os.ReadFile(file)
				require.NoError(t, err)
				return strings.Contains(string(test), "\nfunc "+string(shows[1])+"(")
			}), report)
		}
	}
}

// A wrapper and what it wraps become one function, which does the same; where a name would mean something else, they stay two.
func TestMerged(t *testing.T) {
	t.Parallel()
	files := forktest.Archive(t, "merged.txtar")
	for name, text := range files {
		want, one := files[name+", as one"]
		source, err := syntax.Parse("pool.go", text)
		if err != nil {
			continue // the outcome of another
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := merged(source, source.Decls[0].Func, source.Decls[1].Func)
			require.Equal(t, one, ok)
			formatted, err := format.Source([]byte("package pool\n\n" + got))
			require.NoError(t, err)
			require.Equal(t, strings.TrimSpace(string(want)),
				strings.TrimSpace(strings.TrimPrefix(string(formatted), "package pool\n")))
		})
	}
}
