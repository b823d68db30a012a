package result

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWriteAndRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "a"+Extension)
	written := File[[]int]{Command: "make a", Setting: &Setting{Go: "go1"}, Results: []int{1, 2}}
	require.NoError(t, written.Write(path))
	read, err := Read[[]int](path)
	require.NoError(t, err)
	assert.Equal(t, &written, read)

	first, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, written.Write(path))
	second, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, first, second)
	assert.Zero(t, first[3], "the header has neither a name nor a comment")
	assert.Equal(t, make([]byte, 4), first[4:8], "nor a time")
}

func TestReadNothing(t *testing.T) {
	f, err := Read[int](filepath.Join(t.TempDir(), "a.json"))
	assert.NoError(t, err)
	assert.Nil(t, f)
}

func TestReadBroken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a"+Extension)
	require.NoError(t, File[[]int]{Results: []int{1, 2}}.Write(path))
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	damaged := bytes.Clone(whole)
	damaged[len(damaged)-8] ^= 1 // the sum of the content
	for name, content := range map[string][]byte{
		"empty": nil, "plain": []byte("{}"), "cut off": whole[:len(whole)-1], "damaged": damaged, "no JSON": compress(t, "{"),
	} {
		require.NoError(t, os.WriteFile(path, content, 0o600))
		_, err := Read[[]int](path)
		assert.ErrorContains(t, err, path, name)
	}
}

func compress(t *testing.T, text string) []byte {
	var content bytes.Buffer
	w := gzip.NewWriter(&content)
	_, err := w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return content.Bytes()
}

func TestCurrentSetting(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "proc"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(root, "proc", "cpuinfo"), []byte("processor\t: 0\nmodel name\t: Z80\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(root, "proc", "loadavg"), []byte("0.50 0.40 0.30 1/2 3\n"), 0o600))
	now := time.Date(2026, 1, 2, 23, 30, 0, 0, time.FixedZone("", -3600))

	s := CurrentSetting(root, now)
	assert.Equal(t, &Setting{
		Date: "2026-01-03", System: runtime.GOOS + "/" + runtime.GOARCH, Processor: "Z80", Processors: runtime.NumCPU(),
		Go: runtime.Version(), Load: "0.50",
	}, s)
	assert.Contains(t, s.Machine(), " × Z80")

	unknown := CurrentSetting(t.TempDir(), now)
	assert.Contains(t, unknown.Machine(), "unknown processor")
}

func TestProcessors(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "proc"), 0o700))
	at := func(stat string) Processors {
		require.NoError(t, os.WriteFile(filepath.Join(root, "proc", "stat"), []byte(stat), 0o600))
		return ReadProcessors(root)
	}
	before := at("cpu  100 0 50 800 50 0 0 0 70 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n")
	after := at("cpu  120 0 60 860 60 0 0 0 90 0\n")
	assert.Equal(t, 0.7, after.IdleSince(before))
	assert.Zero(t, before.IdleSince(before))
	assert.Zero(t, ReadProcessors(t.TempDir()))
	assert.Zero(t, at("cpu x"))
}
