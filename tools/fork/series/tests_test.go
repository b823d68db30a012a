package series

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/git"
)

// events is what go test -json prints of tests that ended so: "pass TestA" or "fail TestB".
func events(ends ...string) string {
	var out strings.Builder
	for _, end := range ends {
		action, test, _ := strings.Cut(end, " ")
		fmt.Fprintf(&out, `{"Action":"run","Package":"example.org/m/pool","Test":%[1]q}`+"\n", test)
		fmt.Fprintf(&out, `{"Action":%[2]q,"Package":"example.org/m/pool","Test":%[1]q}`+"\n", test, action)
	}
	return out.String()
}

// A failed test of the series is always an error. One of upstream's is none if it is listed, passes alone, or fails without the
// series, too.
func TestSeriesFailures(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, all, alone, untouched, want, err string
	}{
		{name: "all pass", all: events("pass TestOwn", "pass TestTheirs"), want: "1 tests of the series and 1 of upstream's passed"},
		{name: "ours", all: events("fail TestOwn"), alone: events("pass TestOwn"), err: "go test: example.org/m/pool TestOwn failed"},
		{name: "the package", all: `{"Action":"fail","Package":"example.org/m/pool"}`, err: "go test: example.org/m/pool failed"},
		{name: "listed", all: events("fail TestListed"),
			want: "0 tests of the series and 0 of upstream's passed, 1 of ./pool failed that are listed (TestListed)"},
		{name: "under load", all: events("fail TestTheirs"), alone: events("pass TestTheirs"),
			want: "0 tests of the series and 0 of upstream's passed, 1 of ./pool failed that pass alone (TestTheirs)"},
		{name: "before", all: events("fail TestTheirs"), alone: events("fail TestTheirs"), untouched: events("fail TestTheirs"),
			want: "0 tests of the series and 0 of upstream's passed, 1 of ./pool failed that fail in upstream's tree (TestTheirs)"},
		{name: "broken", all: events("fail TestTheirs"), alone: events("fail TestTheirs"), untouched: events("pass TestTheirs"),
			err: "go test: example.org/m/pool TestTheirs failed"},
		{name: "new", all: events("fail TestNew"), alone: events("fail TestNew"), err: "go test: example.org/m/pool TestNew failed"},
		{name: "not run", err: "go test ./pool: no go command"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v := &workTree{
				ctx: t.Context(), dir: filepath.Join(t.TempDir(), "tree"), module: "example.org/m",
				upstream: filetree.Tree{"pool/pool.go": []byte("package pool\n")},
				known:    map[string]string{"pool TestListed": "it asserts what was wrong"},
			}
			v.run = func(_ context.Context, dir string, _ []string, _ string, args ...string) ([]byte, error) {
				out := tt.all
				switch {
				case dir != v.dir:
					out = tt.untouched
				case slices.Contains(args, "-run"):
					out = tt.alone
				case tt.all == "":
					return nil, errors.New("no go command")
				}
				if strings.Contains(out, `"fail"`) {
					return []byte(out), errors.New("exit status 1")
				}
				return []byte(out), nil
			}
			result, err := v.goTest(v.dir, []string{"./pool"})
			var said string
			if err == nil {
				said, err = v.judge(map[string][]string{"./pool": {"TestOwn"}}, result)
			}
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, said)
		})
	}
}

// Of the packages that a patch touches all tests run, of those that it affects the series' own, of others none until the last patch.
func TestSeriesTestsThatRun(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name              string
		affected, touched []string
		last              bool
		want              []string
	}{
		{name: "touched", affected: []string{"./a", "./b"}, touched: []string{"./a"}, want: []string{"./a", "-run ^(TestB)$ ./b"}},
		{name: "nothing of ours", affected: []string{"./theirs"}, touched: []string{"./theirs"}, want: []string{"./theirs"}},
		{name: "the last", affected: []string{"./a"}, touched: []string{"./a"}, last: true, want: []string{"./a", "-run ^(TestB|TestC)$ ./b ./c"}},
		{name: "with a server", affected: []string{"./internal/integration/x"}, touched: []string{"./internal/integration/x"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			files := filetree.Tree{"theirs/x_test.go": []byte("package theirs\n\nfunc TestTheirs() {}\n")}
			for _, folder := range []string{"a", "b", "c", "internal/integration/x"} {
				files[folder+"/x_test.go"] = []byte("package x\n\nfunc Test" + strings.ToUpper(folder[:1]) + "() {}\n")
			}
			require.NoError(t, files.Write(dir))
			var ran []string
			run := func(_ context.Context, _ string, _ []string, name string, args ...string) ([]byte, error) {
				if name == "git" {
					return []byte(strings.Join(files.Paths(), "\n")), nil
				}
				require.Equal(t, []string{"test", "-json", "-short", "-vet=off"}, args[:4])
				ran = append(ran, strings.Join(args[4:], " "))
				return nil, nil
			}
			v := &workTree{ctx: t.Context(), run: run, dir: dir, module: "example.org/m", git: git.At(t.Context(), run, dir, "", ""),
				upstream: filetree.Tree{"theirs/x_test.go": nil}}
			_, err := v.tests(tt.affected, tt.touched, tt.last)
			require.NoError(t, err)
			require.Equal(t, tt.want, ran)
		})
	}
}
