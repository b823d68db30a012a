package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"
)

// finding is a finding of go vet about a package, without the line, because lines move when declarations are laid over others.
type finding struct {
	Package, Analyzer, File, Message string
}

func (f finding) String() string {
	return fmt.Sprintf("%s: %s (%s)", path.Join(f.Package, f.File), f.Message, f.Analyzer)
}

// vet counts the findings of go vet in the packages. Unkeyed fields are ignored, because upstream writes BSON documents with
// them.
func (r *Rig) vet(ctx context.Context, dir string, packages []string) (map[finding]int, error) {
	if len(packages) == 0 {
		return nil, nil
	}
	args := append([]string{"vet", "-json", "-composites=false"}, packages...)
	output, err := r.Tools.Run(ctx, dir, r.env(), "go", args...)
	if err != nil {
		return nil, err
	}
	return parseVet(output)
}

// parseVet reads the output of go vet -json: one JSON object for each package,
// with comments around them.
func parseVet(output string) (map[finding]int, error) {
	var lines []string
	for _, line := range strings.Split(output, "\n") {
		if !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "go: ") {
			lines = append(lines, line)
		}
	}
	decoder := json.NewDecoder(strings.NewReader(strings.Join(lines, "\n")))
	found := map[finding]int{}
	for {
		var packages map[string]map[string][]struct{ Posn, Message string }
		err := decoder.Decode(&packages)
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the output of go vet: %w", err)
		}
		for pkg, analyzers := range packages {
			for analyzer, findings := range analyzers {
				for _, f := range findings {
					file, _, _ := strings.Cut(filepath.Base(f.Posn), ":")
					found[finding{pkg, analyzer, file, f.Message}]++
				}
			}
		}
	}
}
