package drivers

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// write writes files below a new folder, which it returns.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		path := filepath.Join(folder, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return folder
}

// fakeDriver is a module by the driver's name whose only constant is a word.
func fakeDriver(t *testing.T, word string) string {
	return write(t, map[string]string{
		"go.mod":     "module " + Module + "\n\ngo 1.19\n",
		"mongo/a.go": "package mongo\n\nconst Word = \"" + word + "\"\n",
	})
}

func newBuilder(t *testing.T) Builder {
	return Builder{
		Module: write(t, map[string]string{
			"go.mod": "module example.com/app\n\ngo 1.19\n\nrequire " + Module + " v2.5.0\n\nreplace " + Module + " => ./elsewhere\n",
			"go.sum": "",
			"cmd/say/main.go": "package main\n\nimport (\n\t\"fmt\"\n\n\t\"" + Module + "/mongo\"\n)\n\n" +
				"func main() { fmt.Print(mongo.Word) }\n",
		}),
		Temp: t.TempDir(), Environ: append(os.Environ(), "GOFLAGS=", "GOPROXY=off"),
	}
}

func TestBuild(t *testing.T) {
	b := newBuilder(t)
	for _, word := range []string{"upstream", "fork"} {
		program, err := b.Build(context.Background(), Driver{Name: word, Folder: fakeDriver(t, word)}, filepath.Join("cmd", "say"))
		require.NoError(t, err)
		output, err := exec.Command(program).Output()
		require.NoError(t, err)
		assert.Equal(t, word, string(output))
	}
	content, err := os.ReadFile(filepath.Join(b.Module, "go.mod"))
	require.NoError(t, err)
	assert.Contains(t, string(content), "./elsewhere", "the module's own file is left alone")
}

func TestBuildErrors(t *testing.T) {
	b := newBuilder(t)
	_, err := b.Build(context.Background(), Driver{Name: "fork", Folder: filepath.Join(b.Temp, "none")}, "cmd/say")
	assert.ErrorContains(t, err, "make bench-drivers")

	broken := fakeDriver(t, "a")
	require.NoError(t, os.WriteFile(filepath.Join(broken, "mongo", "a.go"), []byte("package mongo\n"), 0o600))
	_, err = b.Build(context.Background(), Driver{Name: "fork", Folder: broken}, "cmd/say")
	assert.ErrorContains(t, err, "build with fork")
	assert.ErrorContains(t, err, "undefined: mongo.Word")
}
