//go:build unix

package demo

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRunApp(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		script  string
		want    *Summary
		wantErr string
	}{
		"a summary": {
			`echo "$@ $MONGODB_URI" >&2; echo '{"driver":"v2.5.0","operations":9,"errors":3,"overloadErrors":2,"lostWrites":1,"commands":12,"seconds":0.5}'`,
			&Summary{Driver: "v2.5.0", Operations: 9, Errors: 3, OverloadErrors: 2, LostWrites: 1, Commands: 12, Seconds: 0.5},
			"",
		},
		"no summary": {`echo "$@ $MONGODB_URI" >&2; echo done`, nil, `the shop's summary "done\n"`},
		"a failure":  {`echo "$@ $MONGODB_URI" >&2; exit 5`, nil, "the shop: exit status 5"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var progress bytes.Buffer
			cfg := Config{Workers: 3, Operations: 9, Seed: 7, Environ: append(os.Environ(), "SHOP="+test.script), Progress: &progress}
			got, err := runApp(t.Context(), cfg, "mongodb://there", filepath.Join("testdata", "shop"))
			assert.Equal(t, test.want, got)
			if test.wantErr == "" {
				assert.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, test.wantErr)
			}
			assert.Equal(t, "-app-name overload-shop -workers 3 -operations 9 -seed 7 mongodb://there\n", progress.String())
		})
	}
}
