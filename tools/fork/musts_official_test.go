package fork

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/tools/rig/pypi"
	"mongofork/tools/rig/specs"
)

var (
	officialFile = regexp.MustCompile(`[\w./*-]+\.json`)
	skippedTest  = regexp.MustCompile(`TestUnifiedSpec/(\S+?\.json)/`)
)

// Of each official file that the table names, at least one test runs in every base: the file is in the revision of the specification
// that the base's own tests want, and neither upstream nor the fork skips all of it. A file that the copy of the revision lacks is not
// looked at: a source distribution of PyMongo does not have all.
func TestOfficialFilesOfMustsRun(t *testing.T) {
	t.Parallel()
	_, musts := readMusts(t)
	bases, err := (&Project{Root: repositoryRoot}).Bases()
	require.NoError(t, err)
	for _, base := range bases {
		skips, err := os.ReadFile(filepath.Join(repositoryRoot, "etc", "bases", base, "skips"))
		require.NoError(t, err)
		skipped := map[string]int{}
		for _, m := range skippedTest.FindAllSubmatch(append(skips, filesOf(t, base)["internal/spectest/skip.go"]...), -1) {
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
				if len(found) == 0 && lacks(lacking, name) {
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
	}
}

// lacks reports whether one of the files, which are named from the folder above source on, has a name that matches.
func lacks(files map[string]string, name string) bool {
	for file := range files {
		if matches, _ := path.Match("source/"+name, file); matches {
			return true
		}
	}
	return false
}
