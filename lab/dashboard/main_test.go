package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/tools/command"
)

const (
	dashboard = "../../contrib/prometheus/dashboard.json"
	events    = "../scenarios/dashboard.yaml"
)

// write writes a file and returns its name.
func write(t *testing.T, name, text string) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

// TestMistakes has command lines with which nothing must start.
func TestMistakes(t *testing.T) {
	text, err := os.ReadFile(dashboard)
	require.NoError(t, err)
	untitled := write(t, "untitled.json", strings.Replace(string(text), `"title": "Tokens left"`, `"title": ""`, 1))
	const backend = "--backend=mongodb://127.0.0.1:1"
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{dashboard, events}, command.ExitUsage, "missing flags: --backend=URI"},
		{[]string{"absent.json", events, backend}, command.ExitUsage, "absent.json"},
		{[]string{untitled, events, backend}, command.ExitFailed, `panel 4 "": it has no title`},
		{[]string{events, events, backend}, command.ExitFailed, "dashboard.yaml: the dashboard: invalid character"},
		{[]string{dashboard, write(t, "never.yaml", "topology: standalone\n"), backend}, command.ExitFailed, "the duration is 0s"},
		{[]string{dashboard, events, "--backend=http://127.0.0.1"}, command.ExitFailed, "the backend's URI: "},
	} {
		t.Run(test.want, func(t *testing.T) {
			t.Setenv("MONGODB_URI", "")
			require.NoError(t, os.Unsetenv("MONGODB_URI"))
			out := filepath.Join(t.TempDir(), "dashboard.svg")
			var stdout, stderr bytes.Buffer
			assert.Equal(t, test.code, run(t.Context(), append(test.args, "-o", out), &stdout, &stderr))
			assert.Contains(t, stderr.String(), test.want)
			assert.Empty(t, stdout.String())
			assert.NoFileExists(t, out)
		})
	}
}

func TestHelp(t *testing.T) {
	var stdout, stderr bytes.Buffer
	assert.Equal(t, command.ExitOK, run(t.Context(), []string{"--help"}, &stdout, &stderr))
	assert.Contains(t, stdout.String(), "Exit codes: 0 all panels are filled")
}
