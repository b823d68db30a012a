package size

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/bench/internal/drivers"
)

// TestMeasure builds with two drivers of which one has more to link. It takes no times: they would take a minute.
func TestMeasure(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(folder, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write("app/go.mod", "module example.com/app\n\ngo 1.19\n\nrequire "+drivers.Module+" v2.5.0\n")
	write("app/go.sum", "")
	write("app/main.go", "package main\n\nimport \""+drivers.Module+"/mongo\"\n\nfunc main() { print(mongo.Word) }\n")
	for name, word := range map[string]string{"small": "a", "large": strings.Repeat("a", 1<<20)} {
		write(name+"/go.mod", "module "+drivers.Module+"\n\ngo 1.19\n")
		write(name+"/mongo/a.go", "package mongo\n\nconst Word = \""+word+"\"\n")
	}

	builder := drivers.Builder{
		Module: filepath.Join(folder, "app"), Temp: t.TempDir(), Environ: append(os.Environ(), "GOFLAGS=", "GOPROXY=off"),
	}
	programs, err := Measure(context.Background(), builder, []drivers.Driver{
		{Name: "small", Folder: filepath.Join(folder, "small")},
		{Name: "large", Folder: filepath.Join(folder, "large")},
	}, 0, nil)
	require.NoError(t, err)
	require.Len(t, programs, 2)
	small, large := programs[0], programs[1]
	assert.GreaterOrEqual(t, large.Bytes, small.Bytes+1<<20)
	assert.GreaterOrEqual(t, large.Stripped, small.Stripped+1<<20)
	assert.Less(t, small.Stripped, small.Bytes)
	assert.Equal(t, 2, small.Packages)
	assert.Equal(t, []string{"example.com/app", drivers.Module + " v2.5.0"}, small.Modules)
}
