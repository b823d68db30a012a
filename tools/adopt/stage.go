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
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"mongofork/tools/fork/filetree"
)

// stage is a folder with copies of the application's go.mod and go.sum, which the go command reads and writes in their place, and
// of the future vendor folder.
type stage struct {
	app      Application
	at       string // the folder of the copies
	file     *modfile.File
	before   filetree.Tree // the application's files
	forked   bool          // whether they have the fork
	vendored bool
	env      []string
	work     workspace
}

func newStage(ctx context.Context, app Application, file *modfile.File) (*stage, error) {
	s := &stage{app: app, file: file, forked: hasOurs(file, app.Driver, app.Dir), vendored: vendored(app.Dir)}
	flags, err := app.Run(ctx, app.Dir, nil, "go", "env", "GOFLAGS")
	if err != nil {
		return nil, err
	}
	s.env = []string{"GOWORK=off", "GOFLAGS=" + withoutModFlags(string(flags))}
	if s.work, err = app.workspace(ctx); err != nil {
		return nil, err
	}
	if s.work.file != "" && vendored(filepath.Dir(s.work.file)) {
		return nil, fmt.Errorf("the workspace %s has a vendor folder, which only go work vendor can write: remove the folder first, "+
			"and run that after", s.work.file)
	}
	if s.before, err = tree(app.Dir, s.vendored); err != nil {
		return nil, err
	}
	if s.at, err = os.MkdirTemp("", "mongofork-use-"); err != nil {
		return nil, err
	}
	return s, with(nil, s.before, []string{"go.sum"}).Write(s.at)
}

func vendored(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "vendor", "modules.txt"))
	return err == nil
}

// tree reads go.mod, go.sum and, if it is wanted, the vendor folder below dir.
func tree(dir string, vendor bool) (filetree.Tree, error) {
	t := filetree.Tree{}
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			t[name] = data
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if !vendor {
		return t, nil
	}
	folder, err := filepath.EvalSymlinks(filepath.Join(dir, "vendor"))
	if err != nil {
		return nil, err
	}
	files, err := filetree.Read(folder)
	for name, data := range files {
		t["vendor/"+name] = data
	}
	return t, err
}

// withoutModFlags removes the flags that are set here for each command.
func withoutModFlags(flags string) string {
	return strings.Join(slices.DeleteFunc(strings.Fields(flags), func(f string) bool {
		name, _, _ := strings.Cut(strings.TrimLeft(f, "-"), "=")
		return name == "mod" || name == "modfile"
	}), " ")
}

// close removes the copies, and what the go command has added to go.work.sum meanwhile.
func (s *stage) close() error { return errors.Join(os.RemoveAll(s.at), s.work.restore()) }

func (s *stage) modFile() string { return filepath.Join(s.at, "go.mod") }

// write writes the copy of go.mod.
func (s *stage) write() error {
	data, err := s.file.Format()
	return errors.Join(err, os.WriteFile(s.modFile(), data, 0o600))
}

// goRun runs the go command on the copies.
func (s *stage) goRun(ctx context.Context, args ...string) (string, error) {
	out, err := s.app.Run(ctx, s.app.Dir, s.env, "go", args...)
	return strings.TrimSpace(string(out)), err
}

// required returns the driver version that is in effect without the fork: the one that the application's modules require or, in a
// workspace, all of its modules do.
func (s *stage) required(ctx context.Context) (string, error) {
	if err := s.write(); err != nil {
		return "", err
	}
	version, err := s.goRun(ctx, "list", "-m", "-mod=mod", "-modfile="+s.modFile(), "-f", "{{.Version}}", s.app.Driver)
	if err != nil {
		return "", s.app.explain(ctx, err, s.file)
	}
	if s.work.file == "" {
		return version, nil
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(s.app.Dir, "go.mod"): s.modFile(), filepath.Join(s.app.Dir, "go.sum"): filepath.Join(s.at, "go.sum"),
	}})
	name := filepath.Join(s.at, "overlay.json")
	if err := errors.Join(err, os.WriteFile(name, overlay, 0o600)); err != nil {
		return "", err
	}
	there, err := s.app.selected(ctx, "-mod=readonly", "-overlay="+name)
	switch {
	case err != nil:
		return "", fmt.Errorf("in the workspace %s: %w", s.work.file, s.app.explain(ctx, err, s.file))
	case there.Replace != nil && there.fork(s.app) == "":
		return "", fmt.Errorf("the workspace %s replaces the driver already, by %s: remove that line first", s.work.file,
			there.replacement())
	case semver.Compare(there.Version, version) > 0:
		return there.Version, nil
	}
	return version, nil
}

// tidy completes the copies for what the application now requires, and returns them with the application's line ends.
func (s *stage) tidy(ctx context.Context, target module.Version) (filetree.Tree, error) {
	if err := s.write(); err != nil {
		return nil, err
	}
	if _, err := s.goRun(ctx, "mod", "tidy", "-modfile="+s.modFile()); err != nil {
		return nil, s.unserved(ctx, target, err)
	}
	if s.vendored {
		if _, err := s.goRun(ctx, "mod", "vendor", "-modfile="+s.modFile(), "-o", filepath.Join(s.at, "vendor")); err != nil {
			return nil, err
		}
	}
	now, err := tree(s.at, s.vendored)
	for _, name := range []string{"go.mod", "go.sum", "vendor/modules.txt"} {
		if text, ok := now[name]; ok && bytes.Contains(s.before[name], []byte("\r\n")) {
			now[name] = bytes.ReplaceAll(unixLines(text), []byte("\n"), []byte("\r\n"))
		}
	}
	return now, err
}

// build builds the application with the copies. If it only fails with them, the error ends with the advice.
func (s *stage) build(ctx context.Context, skip bool, advice string) error {
	if skip {
		return nil
	}
	_, err := s.goRun(ctx, "build", "-mod=mod", "-modfile="+s.modFile(), "-o", os.DevNull, "./...")
	if err == nil || ctx.Err() != nil {
		return err
	}
	if _, before := s.app.Run(ctx, s.app.Dir, nil, "go", "build", "-o", os.DevNull, "./..."); before != nil {
		advice = "it does not build without the change either; --skip-build skips the build"
	}
	return fmt.Errorf("%w\n%s", err, advice)
}

// unserved says what is missing if the go command cannot get a released fork, instead of what it says for each package.
func (s *stage) unserved(ctx context.Context, target module.Version, err error) error {
	var settings struct{ GOPROXY, GONOSUMDB, GOSUMDB string }
	out, envErr := s.app.Run(ctx, s.app.Dir, nil, "go", "env", "-json", "GOPROXY", "GONOSUMDB", "GOSUMDB")
	if target.Version == "" || envErr != nil || json.Unmarshal(out, &settings) != nil {
		return err
	}
	var missing []string
	if _, proxyErr := s.app.Run(ctx, s.at, append(s.env, "GONOSUMDB="+target.Path), "go", "mod", "download",
		target.String()); proxyErr != nil {
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
