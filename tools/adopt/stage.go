package adopt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"mongofork/tools/fork/filetree"
)

// Open reads an application and prepares to change it. The caller has to close it.
func (a Application) Open(ctx context.Context) (*Change, error) {
	dir := realFolder(a.Dir)
	file, err := parse(dir)
	if err != nil {
		return nil, err
	}
	c := &Change{Module: file.Module.Mod.Path, Dir: dir, given: a.Dir, file: file, forked: hasOurs(file, dir), vendored: vendored(dir)}
	a.Dir = dir
	c.app = a
	if err := a.changeable(); err != nil {
		return nil, err
	}
	if c.work, err = a.workspace(ctx); err != nil {
		return nil, err
	}
	if c.work.file != "" && vendored(filepath.Dir(c.work.file)) {
		return nil,
			fmt.Errorf("the workspace %s has a vendor folder, which only go work vendor can write: remove the folder first, "+
				"and run that after", c.work.file)
	}
	if c.Before, err = tree(dir, c.vendored); err != nil {
		return nil, err
	}
	if c.record, err = a.record(); err != nil {
		return nil, err
	}
	if r := c.record; r != nil && r.Former != nil && !r.hold(c.Before) && r.Former.hold(c.Before) {
		c.record = r.Former
	}
	switch {
	case !c.forked:
		c.origin = c.Before
	case c.record != nil && c.record.hold(c.Before):
		c.origin = with(c.Before, c.record.Before, c.record.Paths())
		if c.file, err = modfile.Parse(file.Syntax.Name, c.origin["go.mod"], nil); err != nil {
			return nil, err
		}
	}
	if c.at, err = os.MkdirTemp("", "mongofork-use-"); err != nil {
		return nil, err
	}
	if err := with(nil, c.Before, []string{"go.sum"}).Write(c.at); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// realFolder returns the absolute path of a folder without links, as far as that is possible.
func realFolder(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return dir
}

// Close removes the copies, and what the go command has added to go.work.sum meanwhile.
func (c *Change) Close() error { return errors.Join(os.RemoveAll(c.at), c.work.restore()) }

func (c *Change) modFile() string { return filepath.Join(c.at, "go.mod") }

// write writes the copy of go.mod.
func (c *Change) write() error {
	data, err := c.file.Format()
	return errors.Join(err, os.WriteFile(c.modFile(), data, 0o600))
}

// goRun runs the go command on the copies.
func (c *Change) goRun(ctx context.Context, args ...string) (string, error) {
	out, err := c.app.Run(ctx, c.Dir, []string{"GOWORK=off"}, "go", args...)
	return strings.TrimSpace(string(out)), err
}

// required returns the driver version that is in effect without the fork: the one that the application's modules require or, in a
// workspace, all of its modules do.
func (c *Change) required(ctx context.Context) (string, error) {
	if err := c.write(); err != nil {
		return "", err
	}
	version, err := c.goRun(ctx, "list", "-m", "-mod=mod", "-modfile="+c.modFile(), "-f", "{{.Version}}", Driver)
	if err != nil {
		return "", c.app.explain(ctx, err, c.file)
	}
	if c.work.file == "" {
		return version, nil
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(c.Dir, "go.mod"): c.modFile(), filepath.Join(c.Dir, "go.sum"): filepath.Join(c.at, "go.sum"),
	}})
	name := filepath.Join(c.at, "overlay.json")
	if err := errors.Join(err, os.WriteFile(name, overlay, 0o600)); err != nil {
		return "", err
	}
	there, err := c.app.selected(ctx, "-mod=readonly", "-overlay="+name)
	switch {
	case err != nil:
		return "", fmt.Errorf("in the workspace %s: %w", c.work.file, c.app.explain(ctx, err, c.file))
	case there.Replace != nil && there.fork(c.app) == "":
		return "", fmt.Errorf("the workspace %s replaces the driver already, by %s: remove that line first", c.work.file,
			there.replacement())
	case semver.Compare(there.Version, version) > 0:
		return there.Version, nil
	}
	return version, nil
}

// tidy completes the copies for what the application now requires, and returns them with the application's line ends.
func (c *Change) tidy(ctx context.Context, target module.Version) (filetree.Tree, error) {
	if err := c.write(); err != nil {
		return nil, err
	}
	if _, err := c.goRun(ctx, "mod", "tidy", "-modfile="+c.modFile()); err != nil {
		return nil, c.unserved(ctx, target, err)
	}
	if c.vendored {
		if _, err := c.goRun(ctx, "mod", "vendor", "-modfile="+c.modFile(), "-o", filepath.Join(c.at, "vendor")); err != nil {
			return nil, err
		}
	}
	now, err := tree(c.at, c.vendored)
	for _, name := range []string{"go.mod", "go.sum", "vendor/modules.txt"} {
		if text, ok := now[name]; ok && bytes.Contains(c.Before[name], []byte("\r\n")) {
			now[name] = bytes.ReplaceAll(unixLines(text), []byte("\n"), []byte("\r\n"))
		}
	}
	return now, err
}

// unserved says what is missing if the go command cannot get a released fork. The go command would say it for each package.
func (c *Change) unserved(ctx context.Context, target module.Version, err error) error {
	var settings struct{ GOPROXY, GONOSUMDB, GOSUMDB string }
	out, envErr := c.app.Run(ctx, c.Dir, nil, "go", "env", "-json", "GOPROXY", "GONOSUMDB", "GOSUMDB")
	if target.Version == "" || envErr != nil || json.Unmarshal(out, &settings) != nil {
		return err
	}
	var missing []string
	if _, proxyErr := c.app.Run(ctx, c.at, []string{"GOWORK=off", "GOFLAGS=", "GONOSUMDB=" + target.Path}, "go", "mod",
		"download", target.String()); proxyErr != nil {
		missing = append(missing, "GOPROXY=<address of the release>,"+settings.GOPROXY+": what it is now serves no such version")
	}
	if settings.GOSUMDB != "off" && !module.MatchPrefixPatterns(settings.GONOSUMDB, target.Path) {
		missing = append(missing, "GONOSUMDB="+strings.Trim(settings.GONOSUMDB+","+target.Path, ",")+
			": the checksum database knows no forks")
	}
	if missing == nil {
		return err
	}
	return fmt.Errorf("the go command cannot get %s; set, as docs/builder.md (Using a release) says,\n\t%s", target,
		strings.Join(missing, "\n\t"))
}

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
