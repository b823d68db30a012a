//go:build unix

package server

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// startFake starts this test binary in a role.
func startFake(t *testing.T, dir, role string, settings ...string) *child {
	t.Helper()
	executable, err := os.Executable()
	require.NoError(t, err)
	c, err := startChild(dir, command{
		path: executable, args: []string{"--port", "0"}, env: append(settings, fakeRole+"="+role),
	})
	require.NoError(t, err)
	return c
}

func TestCloseKillsAChildThatIgnoresTheRequestToStop(t *testing.T) {
	t.Parallel()
	alive := newLifeline(t)
	dir := t.TempDir()
	c := startFake(t, dir, "secantus", fakeFault+"=stubborn", alive.setting())
	process := alive.process(t)
	c.grace = 50 * time.Millisecond
	require.NoError(t, c.close())
	requireEnd(t, process)
	assert.NoDirExists(t, dir)
}

func TestCloseEndsWhatTheChildStarted(t *testing.T) {
	t.Parallel()
	alive := newLifeline(t)
	c := startFake(t, t.TempDir(), "secantus", fakeFault+"=parent", alive.setting())
	parent, sleeper := alive.process(t), alive.process(t)
	require.NoError(t, c.close())
	requireEnd(t, parent)
	requireEnd(t, sleeper)
}

func TestCloseAfterTheChildEnded(t *testing.T) {
	t.Parallel()
	c := startFake(t, t.TempDir(), "secantus", fakeFault+"=dies")
	<-c.exited
	assert.EqualError(t, c.err, "exit status 3")
	assert.Equal(t, "the data directory is on fire", c.logTail())
	require.NoError(t, c.close())
}

func TestLogTailIsShort(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := ""
	for range 3000 {
		log += "a line\n"
	}
	require.NoError(t, os.WriteFile(dir+"/log", []byte(log+"the last line\n\n"), 0o600))
	tail := (&child{dir: dir}).logTail()
	assert.Regexp(t, `^(a line\n){19}the last line$`, tail)
}

func TestStartChildReportsAMissingProgram(t *testing.T) {
	t.Parallel()
	_, err := startChild(t.TempDir(), command{path: "/nonexistent/mongod"})
	assert.ErrorIs(t, err, os.ErrNotExist)
}
