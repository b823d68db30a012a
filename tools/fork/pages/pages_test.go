// Package pages holds the pages to the folders that there are. It is a package of its own, because the go command runs its tests again
// whenever something in the root of the repository has changed.
package pages

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/tools/command"
	"mongofork/tools/fork"
	"mongofork/tools/fork/plan"
)

// root is the root of the repository.
var root = filepath.Join("..", "..", "..")

// TestMapShowsEveryFolder holds the README's map, etc/overlay and the folders together: the first table is the overlay, the
// second all the rest, and internal/ holds the overlay only.
func TestMapShowsEveryFolder(t *testing.T) {
	t.Parallel()
	_, after, _ := strings.Cut(text(t, "README.md"), "## Where things are")
	table, rest, found := strings.Cut(after, "**What builds and tests it.**")
	require.True(t, found, "the map has no second table")
	layers, err := plan.ReadLayers(root)
	require.NoError(t, err)
	var overlay []string
	for _, layer := range layers {
		for _, folder := range layer.Folders {
			if layer.Below || path.Ext(folder) != "" {
				folder = path.Dir(folder)
			}
			overlay = append(overlay, folder)
		}
	}
	driver, all := foldersIn(table), append(foldersIn(table), foldersIn(rest)...)
	for _, shown := range all {
		require.DirExists(t, filepath.Join(root, shown), "the map shows it")
	}
	requireAll(t, driver, overlay, "the map of the driver lacks %s of etc/overlay")
	requireAll(t, overlay, driver, "the map calls %s a part of the driver; etc/overlay does not")
	requireAll(t, all, foldersOf(t, ""), "the map lacks %s")
	requireAll(t, overlay, foldersOf(t, "internal"), "%s is not of the overlay; tools are below tools/")
}

// requireAll checks that each folder is, contains, or is contained in one of the others.
func requireAll(t *testing.T, others, folders []string, message string) {
	t.Helper()
	for _, folder := range folders {
		require.True(t, slices.ContainsFunc(others, func(other string) bool {
			return strings.HasPrefix(folder+"/", other+"/") || strings.HasPrefix(other+"/", folder+"/")
		}), message, folder)
	}
}

// foldersOf returns the folders in a folder of the repository, without the built ones.
func foldersOf(t *testing.T, dir string) (folders []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(root, dir))
	require.NoError(t, err)
	for _, entry := range entries {
		if name := entry.Name(); entry.IsDir() && !strings.HasPrefix(name, ".") && name != "build" {
			folders = append(folders, path.Join(dir, name))
		}
	}
	return folders
}

// The README's table of versions is the one place in the documents that names the newest base.
func TestReadmeNamesTheBases(t *testing.T) {
	t.Parallel()
	readme := text(t, "README.md")
	bases, err := (&fork.Project{Root: root}).Bases()
	require.NoError(t, err)
	for _, base := range bases {
		require.Regexp(t, `(?m)^\|[^|]* `+regexp.QuoteMeta(base)+` \| `+regexp.QuoteMeta(base)+` \|`, readme)
	}
}

var folderInTable = regexp.MustCompile("`([a-z/]+)/`")

// foldersIn returns the folders that the first column of a table of the map names.
func foldersIn(part string) (folders []string) {
	for line := range strings.Lines(part) {
		first, _, _ := strings.Cut(strings.TrimPrefix(line, "|"), "|")
		for _, folder := range folderInTable.FindAllStringSubmatch(first, -1) {
			folders = append(folders, folder[1])
		}
	}
	return folders
}

// TestPagesCountTheReports compares the numbers of reports and of patches that the pages name with the table of reports, and that with the
// files and the layers: a layer with the name of a report is its patch.
func TestPagesCountTheReports(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(root, "docs", "upstream-defects", "[a-z]*.md"))
	require.NoError(t, err)
	layers, err := plan.ReadLayers(root)
	require.NoError(t, err)
	var listed []string
	ofNewest, patches := 0, 0
	for line := range strings.Lines(text(t, "docs/upstream-defects/README.md")) {
		cells := strings.Split(line, " | ")
		name, _, isReport := strings.Cut(strings.TrimPrefix(cells[0], "| ["), "](")
		if !isReport || !strings.HasPrefix(line, "| [") {
			continue
		}
		listed = append(listed, name+".md")
		patched := slices.ContainsFunc(layers, func(l *plan.Layer) bool { return filepath.Base(l.Name) == name })
		older, newest := cells[len(cells)-2], strings.TrimSuffix(cells[len(cells)-1], " |\n")
		assert.Equal(t, patched, older != "-" || newest != "-", "the table says %q and %q of the patches of %s", older, newest, name)
		if newest != "-" {
			patches++
		}
		if older == "-" || newest != "-" {
			ofNewest++
		}
	}
	for i, file := range files {
		files[i] = filepath.Base(file)
	}
	assert.ElementsMatch(t, files, listed)
	for page, sentence := range map[string]string{
		"README.md":        fmt.Sprintf("[%d defects](docs/upstream-defects/README.md) have a report", ofNewest),
		"docs/upstream.md": fmt.Sprintf("fixes of %d defects of v2.10.0 today", patches),
	} {
		assert.Contains(t, strings.Join(strings.Fields(text(t, page)), " "), sentence, page)
	}
	assert.Contains(t, text(t, "docs/upstream.md"), fmt.Sprintf("as have %d defects more", ofNewest-patches))
}

var (
	link         = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading      = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notInAnchors = regexp.MustCompile(`[^\p{L}\p{N}\- _]`) // the characters of a heading that its anchor lacks
)

// TestLinks follows each link within the repository to its file and its heading. The pages of the site that shows them, such as that of
// releases, are not followed, and neither are the links of release notes, which are made complete later.
func TestLinks(t *testing.T) {
	t.Parallel()
	listed, err := command.Output(t.Context(), root, nil, "git", "ls-files", "--cached", "--others", "--exclude-standard", "--",
		"*.md", ":!etc/release-notes.md", ":!**/testdata/**")
	require.NoError(t, err)
	followed := 0
	for _, page := range strings.Fields(string(listed)) {
		for _, found := range link.FindAllStringSubmatch(text(t, page), -1) {
			to, anchor, _ := strings.Cut(found[1], "#")
			name := path.Join(path.Dir(page), to)
			if to == "" {
				name = page
			}
			if strings.Contains(to, "://") || strings.HasPrefix(name, "../") {
				continue
			}
			followed++
			if !assert.FileExists(t, filepath.Join(root, name), "%s: %s", page, found[1]) || anchor == "" {
				continue
			}
			assert.Contains(t, anchors(text(t, name)), anchor, "%s: %s", page, found[1])
		}
	}
	require.Greater(t, followed, 200, "the test no longer finds links")
}

// anchors returns those of a page's headings.
func anchors(page string) (all []string) {
	for _, found := range heading.FindAllStringSubmatch(page, -1) {
		words := notInAnchors.ReplaceAllString(strings.ToLower(strings.TrimSpace(found[1])), "")
		all = append(all, strings.ReplaceAll(words, " ", "-"))
	}
	return all
}

// TestTroubleshootingHasEveryMessage finds each text in the overlay that can be in an error or in the log, which is each string of two
// words or more, and looks for the longest part of it that is always the same.
func TestTroubleshootingHasEveryMessage(t *testing.T) {
	t.Parallel()
	pages := strings.Join(strings.Fields(text(t, "docs/troubleshooting.md")+text(t, "docs/troubleshooting/messages.md")), " ")
	layers, err := plan.ReadLayers(root)
	require.NoError(t, err)
	seen := 0
	for _, layer := range layers {
		for _, folder := range layer.Folders {
			listed, err := command.Output(t.Context(), root, nil, "git", "ls-files", "--cached", "--others", "--exclude-standard", "--", folder)
			require.NoError(t, err)
			for _, name := range strings.Fields(string(listed)) {
				if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "internal/scripted/") ||
					strings.HasPrefix(name, "internal/integration/") {
					continue
				}
				for _, message := range messages(t, filepath.Join(root, name)) {
					seen++
					if fixed := fixedPart(message); fixed != "" && !strings.Contains(pages, fixed) {
						t.Errorf("%s: docs/troubleshooting/messages.md does not say what to do about %q", name, fixed)
					}
				}
			}
		}
	}
	require.Greater(t, seen, 40, "the test no longer finds messages")
}

// messages are a file's strings, without those that it compares with, or takes off.
func messages(t *testing.T, name string) (found []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	if err != nil {
		return nil // it has been deleted
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec, *ast.StructType:
			return false
		case *ast.BinaryExpr:
			return n.Op != token.EQL && n.Op != token.NEQ
		case *ast.CallExpr:
			called, ok := n.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			of, ok := called.X.(*ast.Ident)
			return !ok || of.Name != "strings"
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				value, err := strconv.Unquote(n.Value)
				require.NoError(t, err)
				found = append(found, value)
			}
		}
		return true
	})
	return found
}

var changing = regexp.MustCompile(`%[-+#.\d]*[a-zA-Z]|%%|"`)

// fixedPart returns the longest part of a message without a figure, a name or a quotation mark. One of less than two words says nothing.
func fixedPart(message string) (longest string) {
	for _, part := range changing.Split(message, -1) {
		if part = strings.Trim(strings.Join(strings.Fields(part), " "), " :(),"); len(part) > len(longest) {
			longest = part
		}
	}
	if !strings.Contains(longest, " ") {
		return ""
	}
	return longest
}

// TestPagesFollowTheConstants finds what the pages, and other files, say of the retries, computed from the constants of the code.
func TestPagesFollowTheConstants(t *testing.T) {
	t.Parallel()
	base := constant(t, "internal/retry/policy.go", `BaseBackoff = (\d+) \* time.Millisecond`)
	longest := constant(t, "internal/retry/policy.go", `MaxBackoff = (\d+) \* time.Second`)
	tokens := constant(t, "internal/retry/bucket.go", `TokenCapacity\s+= (\d+)`)
	retries := constant(t, "x/mongo/driver/topology/overload_revision_2026_03.go", `defaultMaxAdaptiveRetries uint = (\d+)`)
	newest := constant(t, "x/mongo/driver/topology/overload_revision_2026_08.go", `defaultMaxAdaptiveRetries uint = (\d+)`)
	const loops, commands = 3, 5 // of the examples in migrating.md
	all := waits(base, retries)
	exhausted := fmt.Sprintf("(no further retry after %d attempts and %.2fs of backoff: limit)", 1+retries, all/2)
	buckets := boundaries(base, longest)
	for page, sentences := range map[string][]string{
		"README.md": {fmt.Sprintf("March 2026: %d retries", retries), fmt.Sprintf("August 2026: %d retries", newest)},
		"docs/overload.md": {
			fmt.Sprintf("`maxAdaptiveRetries` | %d; newest base %d |", retries, newest),
			fmt.Sprintf("%d ms × 2^(n-1), at most %d s", base, longest),
			fmt.Sprintf("may replace the %d ms", base),
			fmt.Sprintf("it starts full, with %d tokens", tokens),
		},
		"docs/migrating.md": {
			fmt.Sprintf("The driver retries up to %d times and waits up to %.1f s in all", retries, all),
			fmt.Sprintf("retries %s, and waits up to %.1f s", map[int]string{2: "twice"}[newest], waits(2*base, newest)),
			fmt.Sprintf("sends up to %d commands and waits up to %.1f s", loops*(1+retries), loops*all),
			fmt.Sprintf("four commands and the commit, up to %.1f s", commands*all),
		},
		"docs/differences/bases.md":   {fmt.Sprintf("| longest first backoff | %d ms | %d ms,", base, 2*base)},
		"docs/runbook.md":             {fmt.Sprintf("spent half of its tokens: %d retries more", tokens/2)},
		"docs/overload/exhausted.svg": {fmt.Sprintf("error after %.2f s: … %s", all/2, exhausted)},
		"docs/troubleshooting.md":     {exhausted},
		"internal/retry/policy.go":    {map[int]string{5: "With five retries none is as long"}[retries]},
		"layers/extras/events/mongo/retry_examples_test.go": {
			exhausted, fmt.Sprintf("attempts=%d backoff=%.2fs", 1+retries, all/2),
		},
		"internal/scripted/script.go":     {fmt.Sprintf("MaxRetries: %d, FirstBackoff: retry.BaseBackoff", retries)},
		"contrib/prometheus/collector.go": {buckets},
		"contrib/otel/retry.go":           {buckets},
		"contrib/prometheus/alerts.yaml":  {fmt.Sprintf("mongodb_driver_retry_tokens) < %d", tokens/2)},
	} {
		words := strings.Join(strings.Fields(text(t, page)), " ")
		for _, sentence := range sentences {
			if sentence == "" || !strings.Contains(words, sentence) {
				t.Errorf("%s does not say %q, as the constants of the code have it", page, sentence)
			}
		}
	}
}

// waits are the longest backoffs of some retries, in seconds: each is twice as long as that before.
func waits(base, retries int) float64 {
	const inSecond = 1000
	return float64(base*(1<<retries-1)) / inSecond
}

// boundaries are the histogram's: from a quarter of the first backoff on, each twice as long as that before, up to the longest of all.
func boundaries(base, longest int) string {
	const inSecond = 1000
	var list []string
	for s := float64(base) / inSecond / 4; s < float64(longest); s *= 2 {
		list = append(list, strconv.FormatFloat(s, 'g', -1, 64))
	}
	return "{" + strings.Join(append(list, strconv.Itoa(longest)), ", ") + "}"
}

// constant returns a number of a file of the overlay.
func constant(t *testing.T, name, pattern string) int {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(text(t, name))
	require.NotNil(t, found, "%s has no %s", name, pattern)
	n, err := strconv.Atoi(found[1])
	require.NoError(t, err)
	return n
}

// TestFiguresOfTheReadme compares the README's table of successes with the tables of goals.md, which a tool writes.
func TestFiguresOfTheReadme(t *testing.T) {
	t.Parallel()
	goals := rows(text(t, "docs/performance/goals.md"))
	_, table, found := strings.Cut(text(t, "README.md"), "| overload | upstream")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	compared := 0
	for _, row := range rows(table) {
		scenario := map[string]string{
			"bursts": "bursts, 10 clients", "a fifth rejected at random": "20 % at random", "one of three members": "one of three at 1.25 ×",
			"50 connections a second": "50 connections a second",
		}[row[0]]
		if scenario == "" {
			continue
		}
		compared++
		assert.Equal(t, successes(goals, scenario), row[1:], row[0])
	}
	assert.Equal(t, 4, compared)
}

// rows are the cells of all tables of a page.
func rows(page string) (all [][]string) {
	for line := range strings.Lines(page) {
		if cells, isRow := strings.CutPrefix(strings.TrimSpace(line), "| "); isRow {
			all = append(all, strings.Split(strings.TrimSuffix(cells, " |"), " | "))
		}
	}
	return all
}

// successes are the figures of both untouched drivers and both forks in a scenario, of the first table with all of them.
func successes(goals [][]string, scenario string) (figures []string) {
	for _, row := range goals {
		what, scenarios, _ := strings.Cut(row[0], ": ")
		at := slices.Index(strings.Split(scenarios, "; "), scenario)
		if len(row) != 6 || at < 0 || !strings.Contains(what, "succe") {
			continue
		}
		for _, cell := range row[2:6] {
			figures = append(figures, strings.Split(cell, "; ")[at])
		}
		return figures
	}
	return nil
}

// TestExampleOfThrottling computes the table of throttling.md by the formula of the rule, with the numbers of the code. That the code does
// what the formula says is TestPage's to show.
func TestExampleOfThrottling(t *testing.T) {
	t.Parallel()
	slack, exponent := number(t, "slack"), number(t, "exponent")
	_, example, found := strings.Cut(text(t, "docs/throttling.md"), "## An example\n")
	require.True(t, found)
	share := regexp.MustCompile(`\| q = ([\d.]+)`).FindAllStringSubmatch(example, -1)
	rows := regexp.MustCompile(`(?m)^\| \w+ \| (\d+) \| (\d+) \| (.*) \|$`).FindAllStringSubmatch(example, -1)
	require.Len(t, rows, 3)
	n := 0.0
	for _, row := range rows {
		own, err := strconv.ParseFloat(row[1], 64)
		require.NoError(t, err)
		n += own
	}
	assert.Contains(t, example, fmt.Sprintf("n = %g ", n))
	lower := 0.0
	for _, row := range rows {
		own, err := strconv.ParseFloat(row[1], 64)
		require.NoError(t, err)
		assert.Equal(t, fmt.Sprint(lower), row[2], "lower")
		var want []string
		for _, q := range share {
			accepted, err := strconv.ParseFloat(q[1], 64)
			require.NoError(t, err)
			p := (n - n*math.Pow(math.Min(1, slack*accepted), exponent*(1-lower/n)) - lower) / own
			want = append(want, strconv.FormatFloat(math.Round(100*math.Max(0, math.Min(1, p)))/100, 'g', -1, 64))
		}
		assert.Equal(t, strings.Join(want, " | "), row[3], "own %g", own)
		lower += own
	}
}

// number returns a number of the throttle's rule.
func number(t *testing.T, name string) float64 {
	t.Helper()
	found := regexp.MustCompile(`(?m)^\t` + name + ` = ([\d.]+)$`).
		FindStringSubmatch(text(t, "layers/extras/throttling/internal/throttle/rule.go"))
	require.NotNil(t, found, name)
	value, err := strconv.ParseFloat(found[1], 64)
	require.NoError(t, err)
	return value
}
