package suite

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mongofork/tools/gotest"
)

// backpressureFolder is the specification folder whose files all must run in a run of the fork's revision.
const backpressureFolder = "client-backpressure/tests"

// checkComplete compares a run of unified tests with the test files: each case of each file in the backpressure folder, and of
// each other file that ran, must have a result, or the file as a whole must be skipped.
func checkComplete(result *gotest.Result, project string) error {
	source := filepath.Join(project, "testdata", "specifications", "source")
	files, err := filepath.Glob(filepath.Join(source, filepath.FromSlash(backpressureFolder), "*.json"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("%s has no test files", backpressureFolder)
	}
	whole, ran := map[string]bool{}, map[string]map[string]bool{} // by file, named with its folder
	for _, file := range files {
		ran[backpressureFolder+"/"+filepath.Base(file)] = nil
	}
	for _, c := range result.Cases() {
		function, name, _ := strings.Cut(c.Test, "/")
		if function != unifiedTest && function != backpressureTest {
			continue
		}
		file, description, isCase := strings.Cut(name, ".json")
		if file += ".json"; !isCase {
			continue
		}
		if ran[file] == nil {
			ran[file] = map[string]bool{}
		}
		ran[file][description] = true
		whole[file] = whole[file] || description == ""
	}
	var problems []error
	for _, file := range slices.Sorted(maps.Keys(ran)) {
		want, err := casesIn(filepath.Join(source, filepath.FromSlash(file)))
		if err != nil {
			return err
		}
		if got := len(ran[file]); got != want && !whole[file] {
			problems = append(problems, fmt.Errorf("%s has %d cases, but %d ran", file, want, got))
		}
	}
	return errors.Join(problems...)
}

// casesIn returns the number of cases in a unified test file.
func casesIn(file string) (int, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, fmt.Errorf("count the cases: %w", err)
	}
	var content struct {
		Tests []json.RawMessage `json:"tests"`
	}
	if err := json.Unmarshal(text, &content); err != nil {
		return 0, fmt.Errorf("count the cases of %s: %w", file, err)
	}
	return len(content.Tests), nil
}
