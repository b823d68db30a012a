package adopt

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

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

// left names the other members of the workspace that stay on upstream's driver where they are built without it.
func (c *Change) left() (notes []string) {
	data, err := os.ReadFile(c.work.file)
	if err != nil {
		return nil // there is none, or the go command will say what is wrong with it
	}
	work, err := modfile.ParseWork(c.work.file, data, nil)
	if err != nil {
		return nil
	}
	for _, use := range work.Use {
		dir := filepath.FromSlash(use.Path)
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(filepath.Dir(c.work.file), dir)
		}
		member, err := parse(dir)
		if err != nil || member.Module.Mod.Path == c.file.Module.Mod.Path || hasOurs(member, dir) {
			continue
		}
		if slices.ContainsFunc(member.Require, func(r *modfile.Require) bool { return r.Mod.Path == Driver }) {
			notes = append(notes, member.Module.Mod.Path+
				" has the fork only in the workspace, and upstream's driver with GOWORK=off: "+
				c.app.CommandLine(dir)+" puts the fork there, too")
		}
	}
	return notes
}
