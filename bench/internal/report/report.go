// Package report updates the tables of the pages about performance, and the plots, from the results of the benchmarks. The text
// around them is written by hand.
package report

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
)

// Write rewrites the tables of the README and of the pages about performance below a root, and redraws their plots. If a page
// asks for an unknown table, it writes nothing.
func Write(root string) error {
	folder := filepath.Join(root, "docs", "performance")
	all, err := readAll(folder)
	if err != nil {
		return err
	}
	pages, err := pagesOf(root)
	if err != nil {
		return err
	}
	texts := map[string]string{}
	for _, page := range pages {
		if texts[page], err = refresh(page, all.tables); err != nil {
			return err
		}
	}
	for _, page := range pages {
		if err := os.WriteFile(page, []byte(texts[page]), 0o644); err != nil {
			return err
		}
	}
	for name, c := range all.charts {
		if err := c.Save(folder, name); err != nil {
			return err
		}
	}
	return nil
}

// pagesOf returns the pages that have tables.
func pagesOf(root string) ([]string, error) {
	appendices, err := filepath.Glob(filepath.Join(root, "docs", "performance", "*.md"))
	return append([]string{filepath.Join(root, "README.md"), filepath.Join(root, "docs", "performance.md")}, appendices...), err
}

// This package writes the text between these lines; the first names the table.
const (
	begin    = "<!-- make bench-report: "
	beginEnd = " -->\n"
	end      = "<!-- end -->\n"
)

// refresh returns the text of a page with its present tables.
func refresh(page string, tables map[string]table.Writer) (string, error) {
	content, err := os.ReadFile(page)
	if err != nil {
		return "", err
	}
	parts := strings.Split(string(content), begin)
	var text strings.Builder
	text.WriteString(parts[0])
	for _, part := range parts[1:] {
		name, rest, named := strings.Cut(part, beginEnd)
		_, after, ended := strings.Cut(rest, end)
		if !named || !ended {
			return "", fmt.Errorf("%s: a table begins with the line %q and ends with the line %q; this one does not: %.40q",
				page, begin+"NAME -->", "<!-- end -->", name)
		}
		t := tables[name]
		if t == nil {
			return "", fmt.Errorf("%s: there is no table %q, or its benchmark was not run; there are: %s",
				page, name, strings.Join(slices.Sorted(maps.Keys(tables)), ", "))
		}
		text.WriteString(begin + name + beginEnd + t.RenderMarkdown() + "\n" + end + after)
	}
	return text.String(), nil
}
