package fork

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/module"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/forktest"
	"mongofork/tools/fork/layer"
	"mongofork/tools/fork/plan"
	"mongofork/tools/rig/pypi"
	"mongofork/tools/rig/specs"
)

// must is a row of the table in docs/differences/musts.md.
type must struct{ document, number, rule, verdict, by string }

// The page's verdicts, in the order of its table of counts.
var verdicts = []string{"held", "read", "text", "n/a", "differs", "open"}

// How many rules each document has: the word counted, without the paragraph that defines it. 001 has none.
var mustsOf = map[string]int{"000": 23, "002": 31, "003": 67, "004": 131}

var (
	mustRow      = regexp.MustCompile(`(?m)^\| (\d{3})\.(\d+) \| (.+?) \| (.+?) \| (.+) \|$`)
	testName     = regexp.MustCompile(`\b((?:Test|Fuzz)[A-Z]\w*)(?: \((v[\d.]+)\))?`) // perhaps in one base alone
	testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Z]\w*)\(`)
	officialFile = regexp.MustCompile(`[\w./*-]+\.json`)
	skippedTest  = regexp.MustCompile(`TestUnifiedSpec/(\S+?\.json)/`)
	quoted       = regexp.MustCompile("\"([^\"]+)\" (in|only in|nowhere in) (?:\\[[^]]+\\]\\(([^)#]+)[^)]*\\)|`([^`]+)`)")
	countsOfPage = regexp.MustCompile(`(?s)<!-- counts -->\n(.*?)<!-- end -->`)
)

// The table has each rule once, in order, with a verdict, and counts them.
//
// What is held names a test, and each test that the table names is in the fork of every base, or in the lab. The rig fails if one of ours
// does not run, or if one of upstream's is lost.
//
// What is fulfilled by text quotes it, and the quoted words are in the page or file that the table names; "only in" and "nowhere in" are
// about the files of a folder.
//
// Of each official file that the table names, at least one test runs in every base: the file is in the revision of the specification
// that the base's own tests want, and neither upstream nor the fork skips all of it. A file that the copy of the revision lacks is not
// looked at: a source distribution of PyMongo does not have all.
func TestMusts(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(repositoryRoot, "docs", "differences", "musts.md"))
	require.NoError(t, err)
	var musts []must
	for _, m := range mustRow.FindAllStringSubmatch(string(page), -1) {
		musts = append(musts, must{m[1], m[2], m[3], m[4], m[5]})
	}
	counted := map[string]int{}
	for _, m := range musts {
		counted[m.document]++
		counted[m.document+m.verdict]++
		require.Equal(t, fmt.Sprint(counted[m.document]), m.number, "document %s: rows in order", m.document)
		require.Contains(t, verdicts, m.verdict, "%s.%s", m.document, m.number)
	}
	want := "| document | rules | " + strings.Join(verdicts, " | ") + " |\n|" + strings.Repeat("---|", 2+len(verdicts)) + "\n"
	for _, document := range []string{"000", "002", "003", "004"} {
		require.Equal(t, mustsOf[document], counted[document], "rules of document %s", document)
		want += fmt.Sprintf("| %s | %d |", document, counted[document])
		for _, verdict := range verdicts {
			want += fmt.Sprintf(" %d |", counted[document+verdict])
		}
		want += "\n"
	}
	counts := countsOfPage.FindStringSubmatch(string(page))
	require.NotNil(t, counts, "the page has no counts")
	require.Equal(t, want, counts[1], "the page's counts")
	lab, err := filetree.Read(filepath.Join(repositoryRoot, "lab", "virtual"))
	require.NoError(t, err)
	forktest.EachBase(t, func(t *testing.T, _ string, p *plan.Plan) {
		base := p.Module.Version
		_, files, err := layer.Lay(p.Module, p.Overlay)
		require.NoError(t, err)
		maps.Copy(files, lab)
		known := map[string]bool{}
		for name, text := range files {
			if strings.HasSuffix(name, "_test.go") {
				for _, function := range testFunction.FindAllSubmatch(text, -1) {
					known[string(function[1])] = true
				}
			}
		}
		for _, m := range musts {
			named := testName.FindAllStringSubmatch(m.by, -1)
			require.True(t, m.verdict != "held" || len(named) > 0, "%s.%s: no test", m.document, m.number)
			quotes := quoted.FindAllStringSubmatch(m.by, -1)
			require.Equal(t, m.verdict == "text", len(quotes) > 0, "%s.%s: quote words in …, only in …, or nowhere in …", m.document, m.number)
			for _, q := range quotes {
				if err := found(files, q[1], q[2], q[3], q[4]); err != nil {
					t.Errorf("%s.%s: %v", m.document, m.number, err)
				}
			}
			for _, test := range named {
				elsewhere := test[2] != "" && test[2] != base
				require.True(t, known[test[1]] || elsewhere, "%s.%s: %s has no test %s", m.document, m.number, base, test[1])
			}
		}
		skips, err := os.ReadFile(filepath.Join(repositoryRoot, "etc", "bases", base, "skips"))
		require.NoError(t, err)
		skipped := map[string]int{}
		for _, m := range skippedTest.FindAllSubmatch(append(skips, files["internal/spectest/skip.go"]...), -1) {
			skipped[string(m[1])]++
		}
		store, revisions, err := specs.Open(repositoryRoot, base, io.Discard)
		require.NoError(t, err)
		tests, err := store.Project(t.Context(), revisions.Upstream)
		if errors.Is(err, pypi.ErrUnavailable) {
			t.Skip(err)
		}
		require.NoError(t, err)
		lacking := map[string]string{}
		if tests.Lacks != "" {
			lacking = store.Pins[revisions.Upstream].Differs
		}
		source := filepath.Join(tests.Dir, "testdata", "specifications", "source")
		for _, m := range musts {
			for _, name := range officialFile.FindAllString(m.by, -1) {
				if !strings.Contains(name, "/") {
					name = "client-side-operations-timeout/tests/" + name
				}
				found, err := filepath.Glob(filepath.Join(source, filepath.FromSlash(name)))
				require.NoError(t, err)
				unavailable := func(file string) bool {
					matches, _ := path.Match("source/"+name, file)
					return matches
				}
				if len(found) == 0 && slices.ContainsFunc(slices.Collect(maps.Keys(lacking)), unavailable) {
					continue
				}
				assert.True(t, slices.ContainsFunc(found, func(file string) bool {
					var content struct{ Tests []any }
					text, err := os.ReadFile(file)
					require.NoError(t, errors.Join(err, json.Unmarshal(text, &content)))
					return len(content.Tests) > skipped[filepath.ToSlash(strings.TrimPrefix(file, source+string(filepath.Separator)))]
				}), "%s.%s: no test of %s runs in %s", m.document, m.number, name, base)
			}
		}
	})
}

// found says that words are not where the table says: in a page, named relative to the table, or in a file of the fork. Line breaks and
// the marks of comments do not count.
func found(files filetree.Tree, words, how, page, file string) error {
	if page != "" {
		text, err := os.ReadFile(filepath.Join(repositoryRoot, "docs", "differences", filepath.FromSlash(page)))
		if err == nil && !strings.Contains(oneLine(text), words) {
			err = fmt.Errorf("%s does not say %q", page, words)
		}
		return err
	}
	folder := map[string]string{"in": file, "only in": path.Dir(file) + "/", "nowhere in": file + "/"}[how]
	var in []string
	for name, text := range files {
		if strings.HasPrefix(name, folder) && !strings.HasSuffix(name, "_test.go") && strings.Contains(oneLine(text), words) {
			in = append(in, name)
		}
	}
	if how == "nowhere in" && len(in) > 0 || how != "nowhere in" && !slices.Equal(in, []string{file}) {
		return fmt.Errorf("%q is not %s %s, but in %v", words, how, file, in)
	}
	return nil
}

var breaks = regexp.MustCompile(`\s*\n\s*(// ?)?`)

func oneLine(text []byte) string { return breaks.ReplaceAllString(string(text), " ") }

// What mends an advisory in the fork, and the test of that, are in the overlay of every base that is affected. A base with an open one is
// released only if the list says why. SECURITY.md has the number of advisories, in all and without a fix of upstream's on the newest base,
// and names those with a CVE.
func TestAdvisories(t *testing.T) {
	t.Parallel()
	p := &Project{Root: repositoryRoot}
	list, err := p.Advisories()
	require.NoError(t, err)
	page, err := os.ReadFile(filepath.Join(repositoryRoot, "SECURITY.md"))
	require.NoError(t, err)
	bases, err := p.Bases()
	require.NoError(t, err)
	newest, own, here := bases[len(bases)-1], 0, 0
	for _, a := range list {
		require.NotContains(t, []string{a.ID, a.Title, a.Impact, a.Fixed}, "", "advisory %s is incomplete", a.ID)
		require.NotEmpty(t, a.Affected, a.ID)
		if strings.HasPrefix(a.ID, "CVE-") || a.Dependency != nil {
			require.Contains(t, string(page), a.ID)
		}
		if a.Dependency != nil {
			require.True(t, module.Check(a.Dependency.Module, a.Dependency.Fixed) == nil && a.Dependency.Go != "", a.ID)
			continue
		}
		require.True(t, a.Affects(bases[0]) && a.Mended != nil, a.ID)
		if own++; a.Affects(newest) {
			here++
		}
	}
	require.Contains(t, string(page), fmt.Sprintf("(etc/advisories.yaml) has %d, each", own))
	require.Contains(t, string(page), fmt.Sprintf("on %s the %d that no release", newest, here))
	forktest.EachBase(t, func(t *testing.T, _ string, matched *plan.Plan) {
		ours := map[string]bool{}
		for _, touch := range matched.Touches {
			ours[touch.Key.String()] = true
		}
		for _, d := range matched.Added {
			ours[d.Key.String()] = true
		}
		for _, a := range list {
			switch base := matched.Module.Version; {
			case !a.Affects(base):
			case a.Mended == nil:
				require.NotEmpty(t, a.Accepted[base],
					"advisory %s is open: correct it in the overlay, or say why it is accepted", a.ID)
			default:
				require.NotEmpty(t, a.Mended.By, a.ID)
				require.NotEmpty(t, a.Mended.Tests, a.ID)
				for _, key := range slices.Concat(a.Mended.By, a.Mended.Tests) {
					require.True(t, ours[key], "advisory %s: the overlay neither touches nor adds %s", a.ID, key)
				}
			}
		}
	})
}
