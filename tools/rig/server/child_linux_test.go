package server

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestChildEndsWhenItsOwnerIsKilled(t *testing.T) {
	t.Parallel()
	alive := newLifeline(t)
	executable, err := os.Executable()
	require.NoError(t, err)
	owner := exec.Command(executable, t.TempDir())
	owner.Env = append(os.Environ(), fakeRole+"=owner", alive.setting())
	require.NoError(t, owner.Start())
	defer func() { _ = owner.Wait() }() // it was killed

	alive.process(t) // the owner
	sleeper := alive.process(t)
	require.NoError(t, owner.Process.Kill())
	requireEnd(t, sleeper)
}
