package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/tools/command"
	"mongofork/tools/fork"
	"mongofork/tools/rig/labrun"
	"mongofork/tools/rig/report"
	"mongofork/tools/rig/suite"
)

const secretURI = "mongodb://root:secret@localhost:27017/"

// fakeTools builds programs that are empty files, and keeps what was run besides.
type fakeTools struct {
	args, env []string
}

func (f *fakeTools) Run(_ context.Context, dir string, env []string, name string, args ...string) (string, error) {
	if name != "go" {
		f.args, f.env = append([]string{name}, args...), env
		return "", nil
	}
	for i, arg := range args {
		if arg == "-o" {
			program := filepath.Join(args[i+1], filepath.Base(args[i+1]))
			return "", os.WriteFile(program, nil, 0o600)
		}
	}
	return "", fmt.Errorf("go %q in %s", args, dir)
}

// TestProgramsGetTheServerByEnvironment is about the programs that suites run on a server: every user of the machine can read
// the arguments of a process.
func TestProgramsGetTheServerByEnvironment(t *testing.T) {
	t.Parallel()
	tests := map[string]func(context.Context, labrun.Builder) (string, error){
		"soak": func(ctx context.Context, labs labrun.Builder) (string, error) {
			return soak(ctx, labs, "driver", &suite.Server{URI: secretURI})
		},
		"limits": func(ctx context.Context, labs labrun.Builder) (string, error) {
			return limits(ctx, labs, "driver", &suite.Server{URI: secretURI, Mongod: true})
		},
	}
	for name, run := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			require.NoError(t, os.MkdirAll(filepath.Join(root, "lab", "limits"), 0o755))
			mod := "module m\n\ngo 1.25\n\nrequire go.mongodb.org/mongo-driver/v2 v2.5.0\n"
			require.NoError(t, os.WriteFile(filepath.Join(root, "lab", "go.mod"), []byte(mod), 0o600))
			require.NoError(t, os.WriteFile(filepath.Join(root, "lab", "go.sum"), nil, 0o600))
			tools := new(fakeTools)
			_, err := run(t.Context(), labrun.Builder{Root: root, Env: []string{"MONGODB_URI=mongodb://other"}, Tools: tools})
			require.NoError(t, err)
			assert.NotContains(t, strings.Join(tools.args, " "), "mongodb://")
			assert.Equal(t, "MONGODB_URI="+secretURI, tools.env[len(tools.env)-1], "the last one counts")
		})
	}
}

// TestServersBehindLab is about what the lab will stand before: its clients know no password.
func TestServersBehindLab(t *testing.T) {
	root, err := fork.FindRoot(".")
	require.NoError(t, err)
	t.Setenv("MONGODB_URI", secretURI)
	rig, err := newRig(root, "v2.5.0", io.Discard)
	require.NoError(t, err)
	_, err = rig.OpenBehindLab(t.Context())
	require.ErrorContains(t, err, "MONGODB_URI has credentials; for the lab, which stands before the server")
	assert.NotErrorIs(t, err, suite.ErrUnavailable, "it is no reason to skip anything")
}

func TestPrintedWithoutSecrets(t *testing.T) {
	t.Parallel()
	var out, stderr bytes.Buffer
	assert.Equal(t, command.ExitUsage, exitCode(fmt.Errorf("cannot connect to %s", secretURI), &stderr))
	err := finish(&out, []report.Suite{{
		Name: "spec", Remarks: []string{"on " + secretURI},
		Failures: []report.Failure{{
			Name: "a", What: "no " + secretURI, Output: []string{secretURI}, Rerun: "MONGODB_URI=" + secretURI + " go test",
		}},
	}})
	require.ErrorIs(t, err, errFailed)
	for _, printed := range []string{out.String(), stderr.String()} {
		assert.Contains(t, printed, "mongodb://xxxxx@localhost:27017/")
		assert.NotContains(t, printed, "secret")
	}
}
