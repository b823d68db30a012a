package suite

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"mongofork/tools/gotest"
	"mongofork/tools/rig/report"
)

// fakeTests answers runs of go test from a script.
type fakeTests struct {
	// answer returns the cases of a run, given as "folder Test outcome".
	answer func(tree string, c gotest.Command) []string
	// runs records the commands.
	runs []gotest.Command

	mu sync.Mutex
}

func (f *fakeTests) Test(_ context.Context, c gotest.Command, onEnd func(gotest.Key, gotest.Outcome)) (*gotest.Result, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.runs = append(f.runs, c)
	tree := "fork"
	if strings.Contains(filepath.ToSlash(c.Dir), "/pristine/") {
		tree = "upstream"
	}
	var cases []gotest.Case
	for _, line := range f.answer(tree, c) {
		words := strings.SplitN(line, " ", 4)
		k := gotest.Case{Key: gotest.Key{Package: Module + "/" + words[0], Test: words[1]}}
		k.Outcome = map[string]gotest.Outcome{"passed": gotest.Passed, "failed": gotest.Failed, "skipped": gotest.Skipped}[words[2]]
		if len(words) > 3 {
			k.Output = []string{"    a_test.go:1: " + words[3]}
		}
		cases = append(cases, k)
		onEnd(k.Key, k.Outcome)
	}
	return gotest.NewResult(cases...), nil
}

// fakeTools succeeds at everything but the commands that fail names by a part of
// their command line.
type fakeTools struct {
	// ran records the command lines.
	ran  []string
	fail map[string]error
	says map[string]string

	mu sync.Mutex
}

func (f *fakeTools) Run(_ context.Context, _ string, _ []string, name string, args ...string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	line := filepath.Base(name) + " " + strings.Join(args, " ")
	f.ran = append(f.ran, line)
	for part, err := range f.fail {
		if strings.Contains(line, part) {
			return err.Error(), err
		}
	}
	for part, output := range f.says {
		if strings.Contains(line, part) {
			return output, nil
		}
	}
	return "", nil
}

// fakeBuilder finds the trees built, unless fail has what it is to do, such as "verify v1.0.0".
type fakeBuilder struct {
	built []string
	fail  map[string]error
}

// overlay are the files of the made-up overlay.
var overlay = []string{"p/ours_test.go", "internal/integration/unified/ours_test.go"}

func (f *fakeBuilder) Build(_ context.Context, base string) ([]string, error) {
	return overlay, f.do("build", base)
}

func (f *fakeBuilder) Link(base string) error { return f.do("link", base) }

func (f *fakeBuilder) Verify(_ context.Context, base string) error { return f.do("verify", base) }

func (f *fakeBuilder) do(what, base string) error {
	f.built = append(f.built, what+" "+base)
	return f.fail[what+" "+base]
}

// repository is a made-up repository with built trees.
const repository = `
-- etc/bases/v1.0.0/skips --
# none
-- p/ours_test.go --
package p
-- build/v1.0.0/p/ours_test.go --
package p

func TestMain(m *testing.M) {}
func TestOurs(t *testing.T) {}
func helper() {}
-- build/v1.0.0/internal/integration/unified/ours_test.go --
package unified

func TestClientBackpressureSpec(t *testing.T) {}
func TestProse(t *testing.T) {}
-- build/pristine/v1.0.0/p/p.go --
package p
-- specifications/testdata/specifications/source/client-backpressure/tests/a.json --
{"tests": [{}, {}]}
`

// fixture is a rig on a made-up repository, with fakes for everything outside.
type fixture struct {
	*Rig
	tests   *fakeTests
	tools   *fakeTools
	builder *fakeBuilder
	servers int
	closed  int
}

func newFixture(t *testing.T, answer func(tree string, c gotest.Command) []string) *fixture {
	t.Helper()
	root := t.TempDir()
	for _, file := range txtar.Parse([]byte(repository)).Files {
		name := filepath.Join(root, filepath.FromSlash(file.Name))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, file.Data, 0o600))
	}
	clock := func() time.Time { return time.Unix(0, 0) }
	f := &fixture{tests: &fakeTests{answer: answer}, tools: &fakeTools{}, builder: &fakeBuilder{}}
	f.Rig = &Rig{
		Root: root, Base: "v1.0.0", Upstream: "v1.0.0-pin", Fork: "2026-03-12", Environ: []string{"HOME=/home", "MONGODB_URI=", "GOWORK=on"},
		Tests: f.tests, Tools: f.tools, Builder: f.builder,
		Specifications: func(context.Context, string) (string, error) { return filepath.Join(root, "specifications"), nil },
		OpenMembers:    func(context.Context) (*Server, error) { return nil, ErrUnavailable },
		OpenServer: func(context.Context) (*Server, error) {
			f.servers++
			return &Server{URI: "mongodb://started", Name: "server 8.2.0", Close: func() error { f.closed++; return nil }}, nil
		},
		Progress: NewProgress(io.Discard, clock), Now: clock, Platform: "linux/amd64",
	}
	f.OpenBehindLab = func(context.Context) (*Server, error) {
		f.servers++
		return &Server{URI: "mongodb://behind-lab", Name: "server 8.2.0", Close: func() error { f.closed++; return nil }}, nil
	}
	return f
}

// write replaces a file of the made-up repository.
func (f *fixture) write(t *testing.T, name, content string) {
	t.Helper()
	require.NoError(t, os.WriteFile(f.file(name), []byte(content), 0o600))
}

// one runs a suite that has one result.
func (f *fixture) one(t *testing.T, name string, options Options) report.Suite {
	t.Helper()
	results := f.Run(t.Context(), []string{name}, options)
	require.Len(t, results, 1)
	return results[0]
}

// counts returns the totals as the last line of a report has them.
func counts(suites ...report.Suite) string { return report.Sum(suites).String() }
