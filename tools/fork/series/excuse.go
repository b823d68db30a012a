package series

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mongofork/tools/gotest"
)

// excuse says why failed tests of upstream's may fail: they are listed, fail in upstream's tree as well, or pass when they run alone.
// It returns the test functions by reason, each once for every case.
func (v *workTree) excuse(folder string, failed []gotest.Case) (map[string][]string, error) {
	excuses := map[string][]string{}
	excused := func(why string, is func(gotest.Case) bool) {
		failed = slices.DeleteFunc(failed, func(c gotest.Case) bool {
			ok := is(c)
			if ok {
				excuses[why] = append(excuses[why], gotest.TopLevel(c.Test))
			}
			return ok
		})
	}
	excused("are listed", func(c gotest.Case) bool {
		_, listed := v.known[strings.TrimPrefix(folder, "./")+" "+c.Test]
		return listed
	})
	if len(failed) == 0 {
		return excuses, nil
	}
	before, err := v.untouched(folder)
	if err != nil {
		return nil, err
	}
	excused("fail in upstream's tree", func(c gotest.Case) bool { return before.Outcome(c.Key) == gotest.Failed })
	if len(failed) == 0 {
		return excuses, nil
	}
	var functions []string
	for _, c := range failed {
		functions = append(functions, gotest.TopLevel(c.Test))
	}
	slices.Sort(functions)
	alone, err := v.goTest(v.dir, []string{folder}, "-count=1", "-run", gotest.AnyOf(slices.Compact(functions)))
	if err != nil {
		return nil, err
	}
	excused("pass alone", func(c gotest.Case) bool { return alone.Outcome(c.Key) == gotest.Passed })
	if len(failed) > 0 {
		return nil, failure(failed[0])
	}
	return excuses, nil
}

// untouched runs the tests of a folder in upstream's tree, once.
func (v *workTree) untouched(folder string) (*gotest.Result, error) {
	if before, ok := v.before[folder]; ok {
		return before, nil
	}
	dir := v.dir + ".untouched"
	if len(v.before) == 0 {
		if err := os.RemoveAll(dir); err != nil {
			return nil, err
		}
		if err := v.upstream.Write(dir); err != nil {
			return nil, err
		}
		v.before = map[string]*gotest.Result{}
	}
	before := gotest.NewResult()
	if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(folder))); err == nil {
		if before, err = v.goTest(dir, []string{folder}); err != nil {
			return nil, err
		}
	}
	v.before[folder] = before
	return before, nil
}

// knownFailures lists upstream's tests that assert what the specification has changed, with the reason.
func knownFailures(root, base string) (map[string]string, error) {
	file := filepath.Join(root, "etc", "bases", base, "skips")
	skips, err := gotest.ReadSkips(file)
	if err != nil {
		return nil, err
	}
	known := map[string]string{}
	for _, skip := range skips {
		known[skip.String()] = skip.Reason
	}
	return known, nil
}
