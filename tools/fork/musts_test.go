package fork

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/forktest"
	"mongofork/tools/fork/upstream"
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
	countsOfPage = regexp.MustCompile(`(?s)<!-- counts -->\n(.*?)<!-- end -->`)
)

func readMusts(t *testing.T) (page string, musts []must) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repositoryRoot, "docs", "differences", "musts.md"))
	require.NoError(t, err)
	for _, m := range mustRow.FindAllStringSubmatch(string(text), -1) {
		musts = append(musts, must{m[1], m[2], m[3], m[4], m[5]})
	}
	return string(text), musts
}

// The table has each rule once, in order, with a verdict, and counts them.
func TestEveryMustHasAVerdict(t *testing.T) {
	t.Parallel()
	page, musts := readMusts(t)
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
	found := countsOfPage.FindStringSubmatch(page)
	require.NotNil(t, found, "the page has no counts")
	require.Equal(t, want, found[1], "the page's counts")
}

// filesOf returns the files of the fork on a base.
func filesOf(t *testing.T, base string) filetree.Tree {
	t.Helper()
	forktest.Released(t, base)
	_, files, err := (&Project{Root: repositoryRoot, Module: realModulePath, Base: base, Source: upstream.Download}).Assemble(t.Context())
	require.NoError(t, err)
	return files
}

// What is held names a test, and each test that the table names is in the fork of every base, or in the lab. The rig fails if one of ours
// does not run, or if one of upstream's is lost.
func TestEveryMustNamesItsTests(t *testing.T) {
	t.Parallel()
	_, musts := readMusts(t)
	bases, err := (&Project{Root: repositoryRoot}).Bases()
	require.NoError(t, err)
	for _, base := range bases {
		files := filesOf(t, base)
		lab, err := filetree.Read(filepath.Join(repositoryRoot, "lab", "virtual"))
		require.NoError(t, err)
		maps.Copy(files, lab)
		var known []string
		for name, text := range files {
			if strings.HasSuffix(name, "_test.go") {
				for _, function := range testFunction.FindAllSubmatch(text, -1) {
					known = append(known, string(function[1]))
				}
			}
		}
		slices.Sort(known)
		for _, m := range musts {
			named := testName.FindAllStringSubmatch(m.by, -1)
			require.True(t, m.verdict != "held" || len(named) > 0, "%s.%s: no test", m.document, m.number)
			for _, test := range named {
				_, there := slices.BinarySearch(known, test[1])
				elsewhere := test[2] != "" && test[2] != base
				require.True(t, there || elsewhere, "%s.%s: %s has no test %s", m.document, m.number, base, test[1])
			}
		}
	}
}
