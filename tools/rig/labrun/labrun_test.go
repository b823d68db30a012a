package labrun

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReadEnv(t *testing.T) {
	said, err := readEnv(strings.NewReader("hello\nMONGODB_URI=mongodb://a\nLAB_URL=http://b\nMONGODB_URI=later\n"))
	require.NoError(t, err)
	assert.Equal(t, []string{"MONGODB_URI=mongodb://a", "LAB_URL=http://b"}, said)

	_, err = readEnv(strings.NewReader("MONGODB_URI=mongodb://a\n"))
	assert.EqualError(t, err, "it ended before it said where it is")
}

func TestWithURI(t *testing.T) {
	single := []string{"SINGLE_MONGOS_LB_URI=a", "MULTI_MONGOS_LB_URI=b"}
	assert.Equal(t, append(single, "MONGODB_URI=a"), withURI(single))
	assert.Equal(t, []string{"MONGODB_URI=a"}, withURI([]string{"MONGODB_URI=a"}))
}

// script makes a program that stands for the lab.
func script(t *testing.T, text string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the program is a shell script")
	}
	path := filepath.Join(t.TempDir(), "lab")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700))
	return path
}

func TestServe(t *testing.T) {
	binary := script(t, `echo "MONGODB_URI=$*"; echo "BACKEND=$MONGODB_URI"; echo LAB_URL=here; exec sleep 60`)
	backend := "mongodb://root:secret@backend"
	env := append(os.Environ(), "MONGODB_URI=mongodb://other")
	l, err := Serve(t.Context(), binary, env, "sharded:2", backend)
	require.NoError(t, err)
	// Every user of the machine can read arguments.
	assert.Equal(t, []string{"MONGODB_URI=serve --topology sharded:2", "BACKEND=" + backend, "LAB_URL=here"}, l.Env)
	assert.NoError(t, l.Close())
}

func TestServeThatFails(t *testing.T) {
	binary := script(t, `echo "lab: no such topology before $MONGODB_URI" >&2; exit 1`)
	_, err := Serve(context.Background(), binary, os.Environ(), "ring:3", "mongodb://root:secret@backend")
	require.ErrorContains(t, err, "the lab of topology ring:3 did not serve")
	assert.ErrorContains(t, err, "lab: no such topology before mongodb://")
	assert.NotContains(t, err.Error(), "secret")
}
