package series

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// linter runs golangci-lint with upstream's own configuration and looks for what it does not find in upstream's tree.
type linter struct {
	// tool is golangci-lint; empty if nothing is looked for.
	tool   string
	goTool func(args ...string) (string, error)
	// accepted are the findings that do no harm.
	accepted []AcceptedFinding
	before   map[lintFinding]int
}

// lintFinding is a finding without its line: lines move.
type lintFinding struct{ Linter, File, Text string }

// begin notes what there is in folders of upstream's tree.
func (l *linter) begin(folders []string) (err error) {
	if l.tool != "" {
		l.before, err = l.run(folders)
	}
	return err
}

// check looks at some folders after a patch.
func (l *linter) check(folders []string) (string, error) {
	if l.tool == "" {
		return "not linted", nil
	}
	found, err := l.run(folders)
	if err != nil {
		return "", err
	}
	var more []string
	accepted := 0
	for finding, times := range found {
		switch {
		case times <= l.before[finding]:
		case slices.ContainsFunc(l.accepted, func(a AcceptedFinding) bool { return a.File == finding.File && a.Text == finding.Text }):
			accepted++
		default:
			more = append(more, fmt.Sprintf("%s: %s (%s)", finding.File, finding.Text, finding.Linter))
		}
	}
	if len(more) > 0 {
		slices.Sort(more)
		return "", fmt.Errorf("upstream's linters find what they do not find in upstream's tree: %s", strings.Join(more, "; "))
	}
	return fmt.Sprintf("%d packages linted, with %d findings that %s/%s accepts", len(folders), accepted, Folder, Setup), nil
}

// run counts the findings in folders.
func (l *linter) run(folders []string) (map[lintFinding]int, error) {
	if len(folders) == 0 {
		return nil, nil
	}
	out, err := l.goTool(append([]string{"run", l.tool, "run", "--output.json.path=stdout", "--show-stats=false",
		"--allow-parallel-runners", "--max-issues-per-linter=0", "--max-same-issues=0", "--issues-exit-code=0"}, folders...)...)
	if err != nil {
		return nil, err
	}
	var report struct {
		Issues []struct {
			FromLinter, Text string
			Pos              struct{ Filename string }
		}
	}
	if err := json.NewDecoder(strings.NewReader(out)).Decode(&report); err != nil {
		return nil, fmt.Errorf("read what golangci-lint found: %w: %s", err, out)
	}
	found := map[lintFinding]int{}
	for _, issue := range report.Issues {
		found[lintFinding{issue.FromLinter, issue.Pos.Filename, issue.Text}]++
	}
	return found, nil
}
