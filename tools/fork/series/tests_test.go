package series

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/gotest"
)

// A failed test is an error unless it is listed, fails in upstream's tree as well, or passes when it is repeated.
func TestSeriesFailures(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, test             string
		first, alone, upstream gotest.Outcome
		want, err              string
	}{
		{"passes", "TestA", gotest.Passed, "", "", "1 tests passed", ""},
		{"the package", "", gotest.Failed, "", "", "", "go test: example.org/m/pool failed"},
		{"listed", "TestListed", gotest.Failed, "", "", "0 tests passed", ""},
		{"under load", "TestA", gotest.Failed, gotest.Passed, gotest.Passed, "0 tests passed, some passed when repeated: example.org/m/pool TestA", ""},
		{"before", "TestA", gotest.Failed, gotest.Failed, gotest.Failed, "0 tests passed, 1 fail in upstream's tree, too", ""},
		{"broken", "TestA", gotest.Failed, gotest.Failed, gotest.Passed, "", "go test: example.org/m/pool TestA failed"},
		{"ours", "TestOurs", gotest.Failed, gotest.Failed, gotest.Missing, "", "go test: example.org/m/pool TestOurs failed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v := &workTree{ctx: t.Context(), dir: "tree", module: "example.org/m", skips: []gotest.Skip{{Package: "pool", Test: "TestListed"}}}
			v.opt.GoTest = func(_ context.Context, c gotest.Command) (*gotest.Result, error) {
				outcome := tt.first
				switch {
				case strings.HasSuffix(c.Dir, ".untouched"):
					outcome = tt.upstream
				case c.Run != "":
					outcome = tt.alone
				}
				if outcome == gotest.Missing {
					return gotest.NewResult(), nil
				}
				return gotest.NewResult(gotest.Case{Key: gotest.Key{Package: "example.org/m/pool", Test: tt.test}, Outcome: outcome}), nil
			}
			said, err := v.tests([]string{"./pool"})
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, said)
		})
	}
}
