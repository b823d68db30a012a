package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"

	"mongofork/tools/command"
)

func TestCommandLine(t *testing.T) {
	root := t.TempDir()
	tests := []struct {
		name           string
		args           []string
		code           int
		stdout, stderr string
	}{
		{"help", []string{"--help"}, command.ExitOK, "Exit codes: 0 done, 1 a benchmark failed", ""},
		{"no command", nil, command.ExitUsage, "", "see bench --help"},
		{"unknown flag", []string{"size", "--x"}, command.ExitUsage, "", "--x"},
		{"unknown workload", []string{"overhead", "-C", root, "--workload", "x"}, command.ExitFailed, "", `no workload "x"`},
		{"no round", []string{"bucket", "-C", root, "--rounds", "0"}, command.ExitUsage, "", "at least one round"},
		{"unknown kind", []string{"goodput", "-C", root, "--kind", "x"}, command.ExitUsage, "", `no kind "x" of scenarios; give some of control,`},
		{"no server", []string{"languages", "-C", root, "--kind", "server"}, command.ExitUsage, "", `no kind "server" of scenarios`},
		{"no goroutine", []string{"overhead", "-C", root, "--goroutines", "0"}, command.ExitUsage, "", "at least one goroutine"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			assert.Equal(t, tt.code, run(context.Background(), tt.args, &stdout, &stderr))
			assert.Contains(t, stdout.String(), tt.stdout)
			assert.Contains(t, stderr.String(), tt.stderr)
		})
	}
}

func TestReport(t *testing.T) {
	root := t.TempDir()
	assert.NoError(t, os.MkdirAll(filepath.Join(root, "docs", "performance"), 0o700))
	for _, page := range []string{"README.md", filepath.Join("docs", "performance.md")} {
		assert.NoError(t, os.WriteFile(filepath.Join(root, page), []byte("<!-- make bench-report: conditions -->\n<!-- end -->\n"), 0o600))
	}
	var stdout, stderr bytes.Buffer
	assert.Equal(t, command.ExitOK, run(context.Background(), []string{"report", "-C", root}, &stdout, &stderr), stderr.String())
	text, err := os.ReadFile(filepath.Join(root, "docs", "performance.md"))
	assert.NoError(t, err)
	assert.Contains(t, string(text), "| load at the start |")
}
