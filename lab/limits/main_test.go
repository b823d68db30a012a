package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"

	"mongofork/lab/limits/internal/limits"
	"mongofork/tools/command"
)

func TestCommandLine(t *testing.T) {
	t.Setenv("MONGODB_URI", "")
	for _, tt := range []struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		{[]string{"--help"}, command.ExitOK, "Exit codes: 0 all is as it has to be", ""},
		{[]string{"--backend=mongodb://a", "--scale"}, command.ExitUsage, "", "see limits --help"},
		{[]string{"--backend=mongodb://a,b"}, command.ExitFailed, "", "names 2 hosts"},
	} {
		var stdout, stderr bytes.Buffer
		assert.Equal(t, tt.code, run(t.Context(), tt.args, &stdout, &stderr), tt.args)
		assert.Contains(t, stdout.String(), tt.stdout)
		assert.Contains(t, stderr.String(), tt.stderr)
	}
}

func TestWrite(t *testing.T) {
	var out bytes.Buffer
	write(&out, &limits.Report{Where: "the server itself", Checks: []limits.Check{
		{Limit: "requests", What: "all operations succeed", OK: true, Figures: "0 of 50 failed"},
		{Limit: "requests", What: "the tokens fall", Figures: "1000 left"},
	}})
	assert.Contains(t, out.String(), "the limits of the server itself\n")
	assert.Regexp(t, `requests \| ok +\| all operations succeed \| 0 of 50 failed`, out.String())
	assert.Regexp(t, `requests \| FAILED \| the tokens fall +\| 1000 left`, out.String())
}
