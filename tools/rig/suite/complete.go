package suite

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mongofork/tools/gotest"
)

// backpressureFolder is the specification folder whose files all must run in a run of the fork's revision.
const backpressureFolder = "client-backpressure/tests"

// checkComplete compares a run of unified tests with the test files: each case of each file in the backpressure folder, and of
// each other file that ran, must have a result, or the file as a whole must be skipped. With only set, the other files are
// ignored.
func checkComplete(result *gotest.Result, project, only string) error {
	ran, whole := unifiedFiles(result)
	source := filepath.Join(project, "testdata", "specifications", "source")
	files, err := filepath.Glob(filepath.Join(source, filepath.FromSlash(backpressureFolder), "*.json"))
	if err != nil {
		return err
	}
	var problems []error
	if len(files) == 0 {
		problems = append(problems, fmt.Errorf("%s has no test files", backpressureFolder))
	}
	expected := map[string]bool{}
	for _, file := range files {
		expected[backpressureFolder+"/"+filepath.Base(file)] = true
	}
	for file := range ran {
		expected[file] = true
	}
	for _, file := range slices.Sorted(maps.Keys(expected)) {
		if only != "" && path.Base(file) != only+".json" {
			continue
		}
		want, err := casesIn(filepath.Join(source, filepath.FromSlash(file)))
		if err != nil {
			return err
		}
		if got := ran[file]; got != want && !whole[file] {
			problems = append(problems, fmt.Errorf("%s has %d cases, but %d ran", file, want, got))
		}
	}
	if only != "" && len(ran) == 0 {
		problems = append(problems, fmt.Errorf("there is no test file %s.json in the folders that are run", only))
	}
	return errors.Join(problems...)
}

// unifiedFiles returns the number of cases with a result for each file, named with its folder, and the files that have a result
// as a whole.
func unifiedFiles(result *gotest.Result) (ran map[string]int, whole map[string]bool) {
	ran, whole = map[string]int{}, map[string]bool{}
	for _, c := range result.Cases() {
		_, name, _ := strings.Cut(c.Test, "/")
		file, description, isCase := strings.Cut(name, ".json/")
		switch {
		case isCase && description != "":
			ran[file+".json"]++
		case strings.HasSuffix(name, ".json"):
			ran[name]++
			whole[name] = true
		}
	}
	return ran, whole
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
