package series

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// apiDiff compares the exported API of a tree, as packages that are not internal have it, with that of upstream's tree and with
// that before the last patch.
type apiDiff struct {
	// tool is apidiff; empty if nothing is compared.
	tool   string
	module string
	// dir is where the APIs are kept.
	dir    string
	goTool func(args ...string) (string, error)
}

// begin records the API of upstream's tree.
func (a *apiDiff) begin() error {
	if a.tool == "" {
		return nil
	}
	if err := a.record("now"); err != nil {
		return err
	}
	data, err := os.ReadFile(a.file("now"))
	if err != nil {
		return err
	}
	return os.WriteFile(a.file("upstream"), data, 0o600)
}

// check says which names a patch adds. It is an error if the tree breaks upstream's API.
func (a *apiDiff) check() (string, error) {
	if a.tool == "" {
		return "API not compared", nil
	}
	if err := os.Rename(a.file("now"), a.file("before")); err != nil {
		return "", err
	}
	if err := a.record("now"); err != nil {
		return "", err
	}
	broken, err := a.changes("-incompatible", a.file("upstream"))
	if err != nil {
		return "", err
	}
	if len(broken) > 0 {
		return "", fmt.Errorf("the exported API breaks: %s", strings.Join(broken, ", "))
	}
	added, err := a.changes(a.file("before"))
	if err != nil {
		return "", err
	}
	said := fmt.Sprintf("API: %d names added", len(added))
	if len(added) > 0 {
		said += " (" + strings.Join(added, ", ") + ")"
	}
	return said, nil
}

// file returns where the API of a moment is kept.
func (a *apiDiff) file(moment string) string { return filepath.Join(a.dir, "series-api-"+moment) }

func (a *apiDiff) record(moment string) error {
	_, err := a.goTool("run", a.tool, "-m", "-w", a.file(moment), a.module)
	return err
}

// changes lists how the API differs from an earlier one.
func (a *apiDiff) changes(args ...string) ([]string, error) {
	out, err := a.goTool(append(append([]string{"run", a.tool, "-m"}, args...), a.file("now"))...)
	if err != nil {
		return nil, err
	}
	var changes []string
	for line := range strings.Lines(out) {
		if change, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
			changes = append(changes, strings.TrimSuffix(change, ": added"))
		}
	}
	return changes, nil
}
