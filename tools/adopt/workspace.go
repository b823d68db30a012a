package adopt

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"mongofork/tools/fork/filetree"
)

// workspace is what an application's go command takes from a go.work file.
type workspace struct {
	file string // empty without a workspace
	sum  []byte // what is in its go.work.sum, to which the go command adds at will
}

// workspace reads the workspace that is in effect, if any.
func (a Application) workspace(ctx context.Context) (w workspace, err error) {
	out, err := a.Run(ctx, a.Dir, nil, "go", "env", "GOWORK")
	if w.file = strings.TrimSpace(string(out)); err != nil || w.file == "" || w.file == "off" {
		return workspace{}, err
	}
	if w.sum, err = os.ReadFile(w.file + ".sum"); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return w, err
}

// restore takes back what the go command has added to go.work.sum.
func (w workspace) restore() error {
	now, err := os.ReadFile(w.file + ".sum")
	switch {
	case w.file == "" || err != nil || bytes.Equal(now, w.sum):
		return nil
	case w.sum == nil:
		return os.Remove(w.file + ".sum")
	}
	return filetree.Replace(w.file+".sum", w.sum)
}
