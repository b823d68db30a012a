package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/lab/virtual/trial"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	file, program := filepath.Join(t.TempDir(), "traces"), filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(program, []byte("one"), 0o600))
	open := func() *memory {
		m, err := remember(file, program)
		require.NoError(t, err)
		t.Cleanup(func() { m.file.Close() })
		return m
	}
	first, second := order{Plan: trial.New(1)}, order{Plan: trial.New(1), Lines: true}
	m := open()
	require.NoError(t, m.add(first.key(), trial.Trace{Digest: "a"}))
	require.NoError(t, m.add(first.key(), trial.Trace{Digest: "b"}))
	_, err := m.file.WriteString(`{"Key": "half a li`)
	require.NoError(t, err)
	for n := range 2 {
		m = open()
		for _, want := range []string{"a", "b"} {
			got, ok := m.next(first)
			assert.True(t, ok)
			assert.Equal(t, want, got.Digest)
		}
		_, ok := m.next(first)
		assert.False(t, ok, "a third run")
		_, ok = m.next(second) // added after half a line
		assert.Equal(t, n == 1, ok, "another order")
		require.NoError(t, m.add(second.key(), trial.Trace{}))
	}
	require.NoError(t, os.WriteFile(program, []byte("another"), 0o600))
	_, ok := open().next(first)
	assert.False(t, ok, "another program")
}
