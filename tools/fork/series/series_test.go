package series

import (
	"bytes"
	"go/ast"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/forktest"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/syntax"
)

// planSeries reads the series of a new repository.
func planSeries(t *testing.T, files filetree.Tree) *Series {
	t.Helper()
	s, err := New(forktest.Plan(t, files))
	require.NoError(t, err)
	return s
}

// patchesOf returns the patches of a series, and the tree that they lead to.
func patchesOf(t *testing.T, s *Series) (patches, tree filetree.Tree) {
	t.Helper()
	patches, tree, err := s.Patches(t.Context(), "A Tester <tester@localhost>")
	require.NoError(t, err)
	return patches, tree
}

// A series has one commit for each step that brings something, and each holds what its step brings and nothing else.
func TestSeries(t *testing.T) {
	t.Parallel()
	s := planSeries(t, seriesOverlay())
	patches, tree := patchesOf(t, s)
	names := []string{"0000-cover-letter.patch", "0001-T-1-Have-a-limit.patch", "0002-T-1-Count-calls.patch"}
	require.Equal(t, names, patches.Paths())

	letter, first, second := string(patches[names[0]]), string(patches[names[1]]), string(patches[names[2]])
	require.Contains(t, letter, "Subject: [PATCH 0/2] T-1 Limits\n\nDear all,\n\n  T-1 Have a limit\n  T-1 Count calls\n")
	require.Contains(t, first,
		"Subject: [PATCH 1/2] T-1 Have a limit\n\nIt was wrong.\n\nIt is right now.\n\nWhat changes for users: nothing\n\n"+
			"Specification: none\n\nTests: its own\n---\n")
	require.Contains(t, first, "+const limit = 3\n")
	for _, later := range []string{"shout", "strings", "fork:", "pool.go", "doGet"} {
		require.NotContains(t, first, later)
	}
	for _, now := range []string{"+\tname = strings.ToUpper(name)\n", "-// limitName names the limit.\n", "+import \"strings\"\n",
		"+\tshout string // what the second step wants\n", "\n+\tcalls++\n+\n \t// Comments in a body have to go with it.\n"} {
		require.Contains(t, second, now)
	}
	require.NotContains(t, letter+first+second, "upstream")
	require.NotContains(t, second, "doGet")
	require.NotContains(t, tree, "pool/own.go", "what is left out")
	require.Contains(t, tree, "pool/count.go", "under its name in upstream's tree")
	require.NotContains(t, tree, "pool/get.go")

	again, _ := patchesOf(t, s)
	require.Equal(t, patches, again, "the same sources give the same bytes")
}

// What a step does not say, or says of what is not there, is a problem, and nothing is written.
func TestSeriesRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, file, text, want string
	}{
		{name: "unlisted", file: "etc/series/2-calls.txtar", text: string(stepFile("Count calls", "files: []\n")),
			want: "no step of the series brings this file"},
		{name: "twice", file: "etc/series/0-absent.yaml", text: string(stepFile("Count", "files: [pool/get.go]\n")),
			want: "pool/get.go is listed twice in the series"},
		{name: "no such file", file: "etc/series/0-absent.yaml", text: string(stepFile("Count", "files: [pool/none.go]\n")),
			want: "the overlay has no file pool/none.go"},
		{name: "no message", file: "etc/series/0-absent.yaml", text: "title: Count\nwhy: it is\nusers: x\nspecification: x\n",
			want: "the step has no tests"},
		{name: "long title", file: "etc/series/0-absent.yaml", text: string(stepFile(strings.Repeat("long ", 13), "")),
			want: "the title is longer than a line of 60 bytes"},
		{name: "no order", file: "etc/series/2-calls.txtar", text: string(stepFile("Count", "files: [pool/own.go, pool/get.go]\n")),
			want: "the files are not in order"},
		{name: "no key", file: "etc/series/0-absent.yaml", text: string(stepFile("Count", "fields: [shout]\n")),
			want: "fields: key"},
		{name: "key twice", file: "etc/series/0-absent.yaml", text: string(stepFile("Count", "fields: [pool names.shout]\n")),
			want: "pool names.shout is listed twice in the series"},
		{name: "unknown declaration", file: "etc/series/2-calls.txtar",
			text: string(stepFile("Count", "files: [pool/get.go]\n-- pool/policy.go --\npackage pool\n\nvar none = 1\n")),
			want: "pool/policy.go has no none"},
		{name: "declaration of a later file", file: "etc/series/0-absent.yaml",
			text: string(stepFile("Count", "-- pool/get.go --\npackage pool\n\nvar calls = 0\n")),
			want: "it changes pool/get.go, which no earlier step brings"},
		{name: "unknown field", file: "etc/series/1-limit.yaml", text: "titel: x\n", want: "the file cannot be read: "},
		{name: "no reason", file: "etc/series/series.yaml", text: "left:\n  - {files: [pool/own.go]}\n",
			want: "files are left out without a reason"},
		{name: "name taken", file: "etc/series/series.yaml",
			text: "left:\n  - {files: [pool/own.go], reason: ours}\nfiles: {pool/get.go: pool/pool.go}\n",
			want: "pool/get.go cannot be named pool/pool.go: there is a file of this name"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			files := seriesOverlay()
			files[tt.file] = []byte(tt.text)
			s, err := New(forktest.Plan(t, files))
			if err == nil {
				_, _, err = s.Patches(t.Context(), "A Tester <tester@localhost>")
			}
			require.ErrorContains(t, err, tt.want)
		})
	}
}

// The repository's own series: complete on every base, and with what is left out its last tree is that of the patch.
func TestSeriesOfEveryBase(t *testing.T) {
	t.Parallel()
	forktest.EachBase(t, func(t *testing.T, root string, p *plan.Plan) {
		s, err := New(root, p)
		require.NoError(t, err, "go run ./tools/cmd/mongofork series --base %s", p.Module.Version)
		pristine := assemble.Pristine(p.Module)
		before := pristine
		for i, step := range s.Steps {
			next, err := s.Tree(i)
			require.NoError(t, err)
			code, all := added(before, next)
			require.LessOrEqual(t, code, 1000, "lines of code in %s", step.Name)
			require.LessOrEqual(t, all, 2500, "lines in %s", step.Name)
			require.NotRegexp(t, tellsInMessage, step.message("", p.Module.Version), step.Name)
			if step.Name < optional && i >= s.fixes {
				requireNone(t, optionalWords, pristine, next)
			}
			before = next
		}
		requireNoTrace(t, pristine, before)
		requireComments(t, pristine, before)

		whole, err := s.Tree(s.never())
		require.NoError(t, err)
		a, err := assemble.Build(p)
		require.NoError(t, err)
		want, err := s.named(p, assemble.Licensed(pristine, a))
		require.NoError(t, err)
		require.Empty(t, filetree.Changed(want, whole), "with what is left out, the series is the patch")
	})
}

// added counts the lines that a tree has and another had not: those of code, and all.
func added(before, now filetree.Tree) (code, all int) {
	for _, name := range filetree.Changed(before, now) {
		diff := filetree.Diff(name, before[name], name, now[name])
		lines := strings.Count(diff, "\n+") - strings.Count(diff, "\n+++ ")
		if all += lines; !strings.HasSuffix(name, "_test.go") && !strings.HasPrefix(name, "internal/scripted/") {
			code += lines
		}
	}
	return code, all
}

// requireComments checks that functions keep their comments, and that at most ten are divided into two: one of these has the comment.
func requireComments(t *testing.T, before, tree filetree.Tree) {
	t.Helper()
	had, have, divided := comments(t, before), comments(t, tree), 0
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

// requireNoTrace checks that nothing tells how the series was made: no text, and no name of a file or in a file.
func requireNoTrace(t *testing.T, before, tree filetree.Tree) {
	t.Helper()
	known := names(t, before)
	for name := range names(t, tree) {
		require.False(t, !known[name] && tells.MatchString(name), name)
	}
	requireNone(t, regexp.MustCompile("(?i)fork:|mongofork|upstream|overlay"), before, tree)
}

// requireNone checks that a tree has no more of some words than another.
func requireNone(t *testing.T, words *regexp.Regexp, before, tree filetree.Tree) {
	t.Helper()
	for name, data := range tree {
		if !bytes.Equal(before[name], data) {
			require.LessOrEqual(t, len(words.FindAll(data, -1)), len(words.FindAll(before[name], -1)), "%s in %s", words, name)
		}
	}
}

// tells finds the words for how this repository is made, and its names of files for single bases.
var tells = regexp.MustCompile(`(?i)upstream|overlay|fork|revision|_20[0-9][0-9]_`)

// tellsInMessage finds such words where the specification's revisions have a name.
var tellsInMessage = regexp.MustCompile(`(?i)upstream|overlay|\bfork|\bbases?\b`)

// What may be left off the end of the series begins with this step; the words are of that alone.
const optional = "21"

var optionalWords = regexp.MustCompile(
	`(?i)token ?bucket|throttl|criticality|sheddable|held ?back|\badaptiveRetries|adaptiveThrottling|RetryMonitor|RetryError\b`)

// names returns the paths of a tree's files, and the identifiers in its Go files.
func names(t *testing.T, tree filetree.Tree) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for name, data := range tree {
		all[name] = true
		if !syntax.IsGoFile(name) {
			continue
		}
		source, err := syntax.Parse(name, data)
		require.NoError(t, err)
		ast.Inspect(source.AST, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				all[id.Name] = true
			}
			return true
		})
	}
	return all
}

// What is called by a word that tells is found, in a path and in code; what upstream calls so stays.
func TestNames(t *testing.T) {
	t.Parallel()
	tree := filetree.Tree{"a/overlay.go": []byte("package a\n\nfunc f() { upstreamF(); g_2026_08() }\n"), "b/revision.txt": nil}
	var found []string
	for _, name := range slices.Sorted(maps.Keys(names(t, tree))) {
		if tells.MatchString(name) {
			found = append(found, name)
		}
	}
	require.Equal(t, []string{"a/overlay.go", "b/revision.txt", "g_2026_08", "upstreamF"}, found)
}
