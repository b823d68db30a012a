package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/tools/command"
	"mongofork/tools/rig/suite"
)

func TestCommandLine(t *testing.T) {
	tests := []struct {
		name   string
		args   []string
		code   int
		stdout string
		stderr string
	}{
		{"help", []string{"--help"}, command.ExitOK, "Exit codes: 0 done, 1 a test or check failed", ""},
		{"help of a command", []string{"spec", "--help"}, command.ExitOK, "--revision", ""},
		{"no command", nil, command.ExitUsage, "", "see rig --help"},
		{"unknown command", []string{"tests"}, command.ExitUsage, "", "see rig --help"},
		{"file without revision", []string{"spec", "--file", "a"}, command.ExitUsage, "", "--file needs --revision"},
		{
			"unknown suite", []string{"test", "--only", "unit,bogus"}, command.ExitUsage, "",
			`--only: there is no suite "bogus"; there are check, unit, `,
		},
		{"unknown base", []string{"test", "--base", "v9.9.9"}, command.ExitUsage, "", `there is no base "v9.9.9"; name one with BASE or --base: v2.`},
		{"no base", []string{"upstream", "--base", ""}, command.ExitUsage, "", `there is no base ""`},
		{"unknown flag", []string{"test", "--suite", "fork"}, command.ExitUsage, "", "--suite"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			assert.Equal(t, tt.code, run(t.Context(), tt.args, &stdout, &stderr))
			assert.Contains(t, stdout.String(), tt.stdout)
			assert.Contains(t, stderr.String(), tt.stderr)
		})
	}
}

func TestExitCode(t *testing.T) {
	exit := exec.Command("go", "tool", "no-such-tool").Run()
	var coded *exec.ExitError
	require.ErrorAs(t, exit, &coded)
	tests := []struct {
		err     error
		code    int
		printed string
	}{
		{errFailed, command.ExitFailed, ""},
		{fmt.Errorf("%w: reported", errFailed), command.ExitFailed, ""},
		{errors.New("no root"), command.ExitUsage, "rig: no root\n"},
		{fmt.Errorf("child: %w", exit), coded.ExitCode(), "rig: child: " + exit.Error() + "\n"},
	}
	for _, tt := range tests {
		var stderr bytes.Buffer
		assert.Equal(t, tt.code, exitCode(tt.err, &stderr))
		assert.Equal(t, tt.printed, stderr.String())
	}
}

func TestUnavailable(t *testing.T) {
	missing, other := errors.New("missing"), errors.New("other")
	assert.NoError(t, unavailable(nil, missing))
	assert.ErrorIs(t, unavailable(fmt.Errorf("%w: install it", missing), missing), suite.ErrUnavailable)
	assert.NotErrorIs(t, unavailable(other, missing), suite.ErrUnavailable)
	assert.NotErrorIs(t, unavailable(context.Canceled, missing), suite.ErrUnavailable)
}
