package suite

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/tools/gotest"
)

func TestExceptions(t *testing.T) {
	exceptions, err := ParseExceptions("# why\n\na.json  counts commands\nTestProse counts them, too\n")
	require.NoError(t, err)
	assert.Equal(t, []Exception{{"a.json", "counts commands"}, {"TestProse", "counts them, too"}}, exceptions)

	tests := []struct {
		name     string
		answers  []string
		prose    string
		failures []string
		skips    int
		remarks  int
	}{
		{"both differ", []string{specFile + "/one failed", specFile + "/two passed"}, "failed", nil, 2, 0},
		{"another case fails", []string{specFile + "/one failed", specFile + "/two passed", folderOfFile + " TestOther failed"}, "failed",
			[]string{Module + "/" + folderOfFile + " TestOther"}, 2, 0},
		{"one does not differ", []string{specFile + "/one passed", specFile + "/two passed"}, "failed", nil, 1, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			answer := specAnswers(tt.answers...)
			f := newFixture(t, func(dir string, c gotest.Command) []string {
				lines := answer(dir, c)
				if len(lines) == 1 && lines[0] == folderOfFile+" TestProse passed" {
					return []string{folderOfFile + " TestProse " + tt.prose}
				}
				return lines
			})
			var failures []string
			skips, remarks := 0, 0
			for _, s := range f.Run(t.Context(), []string{"spec"}, Options{Throttled: true, Except: exceptions}) {
				skips += s.Skipped()
				for _, remark := range s.Remarks {
					if strings.Contains(remark, "is an exception, but") {
						remarks++
					}
				}
				for _, failure := range s.Failures {
					failures = append(failures, failure.Name)
				}
			}
			assert.Equal(t, tt.failures, failures)
			assert.Equal(t, tt.skips, skips)
			assert.Equal(t, tt.remarks, remarks)
		})
	}

	_, err = ParseExceptions("a.json")
	assert.EqualError(t, err, `line 1: "a.json" has no reason; write one after the name`)
}
