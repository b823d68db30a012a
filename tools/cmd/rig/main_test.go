package main

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"mongofork/tools/command"
	"mongofork/tools/rig/suite"
)

func TestCommandLine(t *testing.T) {
	t.Chdir("../../..") // to the repository
	for _, tt := range []struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		{[]string{"test", "--help"}, command.ExitOK, "fork,upstream,", ""},
		{[]string{"test", "--only", "everything"}, command.ExitUsage, "", `--only must be one of "fork",`},
		{[]string{"test", "--only", ""}, command.ExitUsage, "", "--only names no suite"},
		{[]string{"--base", "v9.9.9", "server"}, command.ExitUsage, "",
			`there is no base "v9.9.9"; name one with BASE or --base: v2.5.0`},
		{[]string{"server", "--topology", "ring"}, command.ExitUsage, "", `topology "ring": want standalone`},
	} {
		var stdout, stderr bytes.Buffer
		assert.Equal(t, tt.code, run(t.Context(), tt.args, &stdout, &stderr), tt.args)
		assert.Contains(t, stdout.String(), tt.stdout)
		assert.Contains(t, stderr.String(), tt.stderr)
	}
}

func TestExitCode(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	assert.Equal(t, command.ExitFailed, exitCode(fmt.Errorf("tests: %w", suite.ErrFailed), &stderr))
	assert.Empty(t, stderr.String())
	assert.Equal(t, command.ExitUsage, exitCode(fmt.Errorf("mongodb://u:secret@h does not answer"), &stderr))
	assert.Equal(t, "rig: mongodb://xxxxx@h does not answer\n", stderr.String())
}
