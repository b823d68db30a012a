package adopt

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"al.essio.dev/pkg/shellescape"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	"golang.org/x/mod/sumdb/dirhash"

	"mongofork/tools/fork"
	"mongofork/tools/fork/filetree"
)

// selected is the driver that an application is built with, as the go command tells.
type selected struct {
	Version string
	Replace *struct{ Path, Version, Dir string }
}

// selected asks the go command for the driver in effect. It takes back what the go command adds to go.work.sum meanwhile.
func (a Application) selected(ctx context.Context, env []string, flags ...string) (s selected, err error) {
	sums := []string{a.work + ".sum"}
	was, err := read("", sums)
	if err != nil {
		return s, err
	}
	defer func() {
		if now, readErr := read("", sums); a.work != "" && readErr == nil && len(filetree.Changed(was, now)) > 0 {
			err = errors.Join(err, was.Put("", sums[0]))
		}
	}()
	out, err := a.goCommand(ctx, env, slices.Concat([]string{"list", "-m", "-json"}, flags, []string{Driver})...)
	if err != nil {
		return s, a.explain(err)
	}
	return s, json.Unmarshal([]byte(out), &s)
}

// explain returns the error for an application in which the go command finds no driver: it says what the application uses instead.
func (a Application) explain(err error) error {
	file, parseErr := parse(a.Dir)
	if parseErr != nil || !strings.Contains(err.Error(), "not a known dependency") {
		return err
	}
	name := file.Module.Mod.Path
	if v1 := requirement(file, v1); v1 != nil {
		return fmt.Errorf("%s uses v1 of the driver, %s, and the fork is of v2: move to v2 first, "+
			"with https://github.com/mongodb/mongo-go-driver/blob/master/docs/migration-2.0.md", name, v1.Mod)
	}
	return fmt.Errorf("%s does not depend on %s", name, Driver)
}

// replacement names what takes the driver's place.
func (s selected) replacement() string {
	return strings.TrimSpace(s.Replace.Path + " " + s.Replace.Version)
}

// What the files of the package version say: the version of upstream, and how a fork calls itself.
var (
	driverVersion = regexp.MustCompile(`(?m)^var Driver = "([0-9.]+)"`)
	patchLevel    = regexp.MustCompile(`(?m)^const Fork = "([^"]+)"$`)
)

// constant returns what the package version of the driver in a folder says; empty if it does not.
func constant(folder string, form *regexp.Regexp) string {
	for _, name := range []string{"version.go", "fork.go"} {
		source, _ := os.ReadFile(filepath.Join(folder, "version", name))
		if found := form.FindSubmatch(source); found != nil {
			return string(found[1])
		}
	}
	return ""
}

// base returns the base of the fork that takes the driver's place in the application of a folder; empty if it is none.
func (s selected) base(dir string) string {
	if s.Replace == nil {
		return ""
	}
	if base, _, ok := strings.Cut(s.Replace.Version, release); ok {
		return base
	}
	if folder := s.folder(dir); constant(folder, patchLevel) != "" {
		return "v" + constant(folder, driverVersion)
	}
	// An application that has vendored little of it needs no folder of its replace line.
	if file, err := parse(dir); err == nil && slices.ContainsFunc(replacements(file), func(line *modfile.Replace) bool {
		return line.Old.Version == s.Version && ours(line, dir)
	}) {
		return s.Version
	}
	return ""
}

// folder returns the folder of the driver that the application is built with.
func (s selected) folder(dir string) string {
	if vendor := filepath.Join(dir, "vendor", filepath.FromSlash(Driver)); vendored(dir) && constant(vendor, driverVersion) != "" {
		return vendor
	}
	return s.Replace.Dir
}

// level returns the patch level of the fork that the application of a folder is built with; empty if it is not known.
func (s selected) level(dir string) string {
	if _, level, ok := strings.Cut(s.Replace.Version, "-"); ok {
		return level
	}
	return constant(s.folder(dir), patchLevel)
}

// reaches reports whether a patch level, such as fork.2 or fork.2.g0123456789ab for a commit after it, is at least the other.
func reaches(level, least string) bool {
	name, _, _ := strings.Cut(least, ".")
	return strings.HasPrefix(level, name+".") && semver.Compare("v0.0.0-"+level, "v0.0.0-"+least) >= 0
}

// CommandLine returns the command line that puts the fork into a folder, or does with it what flags say.
func (a Application) CommandLine(dir string, flags ...string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return a.builder(slices.Concat([]string{"use"}, flags, []string{dir})...)
}

// builder returns a command line of the builder.
func (a Application) builder(args ...string) string {
	return shellescape.QuoteCommand(slices.Concat([]string{"go", "-C", a.Project.Root, "run", "./tools/cmd/mongofork"}, args))
}

// gone fails if the go.mod file puts the fork's folder into the driver's place, and the folder, which the go command would read, is not
// there.
func (a Application) gone(file *modfile.File) error {
	built := a.Dir
	if a.work != "" {
		built = filepath.Dir(a.work)
	}
	if vendored(built) {
		return nil
	}
	for _, r := range replacements(file) {
		folder := below(a.Dir, r.New.Path)
		if _, err := os.Stat(folder); r.New.Version == "" && ours(r, a.Dir) && errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is built with the fork of %s, whose folder %s is not there: %s makes it",
				file.Module.Mod.Path, r.Old.Version, folder, a.builder("build", "--base", r.Old.Version))
		}
	}
	return nil
}

// Check reports what the application is built with, in the present environment. Upstream's driver is an error, and so is a fork of a
// version below the required one, or of a patch level below the wanted one.
func (a Application) Check(ctx context.Context, least string) (string, error) {
	effect, mend, err := a.check(ctx, least)
	if mend != "" {
		err = fmt.Errorf("%w: %s", err, mend)
	}
	return effect, err
}

// check says which driver is in effect. If it is none of ours, that is an error, perhaps with what mends it.
func (a Application) check(ctx context.Context, least string) (effect, mend string, err error) {
	if err := a.foreign(); err != nil {
		return "", "", err
	}
	file, err := parse(a.Dir)
	if err != nil {
		return "", "", err
	}
	name := file.Module.Mod.Path
	if a.work, err = a.workspace(ctx); err != nil {
		return "", "", err
	}
	if err := a.listed(name); err != nil {
		return "", "", err
	}
	s, err := a.selected(ctx, nil)
	if gone := a.gone(file); gone != nil && (err != nil || s.Replace != nil) {
		return "", "", gone // in a workspace, the go command has failed, too
	}
	if err != nil {
		return "", "", err
	}
	base := s.base(a.Dir)
	mend = a.CommandLine(a.Dir) + " puts the fork in its place"
	if bases, err := a.Project.Bases(); err != nil {
		return "", "", err
	} else if _, tooNew := choose(bases, "", s.Version); tooNew != nil {
		mend = tooNew.Error()
	}
	switch {
	case s.Replace == nil:
		return "", mend, fmt.Errorf("%s is built with upstream's driver, %s", name, s.Version)
	case base == "":
		return "", "remove that replace line first",
			fmt.Errorf("%s is built with %s in the driver's place, which is not the fork", name, s.replacement())
	case semver.Compare(base, s.Version) < 0:
		return "", mend, fmt.Errorf("%s is built with the fork of %s, a step back from %s, which %s requires", name, base,
			s.Version, a.requiring(file, s.Version))
	}
	effect = fmt.Sprintf("%s is built with the fork of %s, by %s", name, base, s.replacement())
	if least != "" && !reaches(s.level(a.Dir), least) {
		return "", "take a later one, and " + a.CommandLine(a.Dir),
			fmt.Errorf("%s, which calls itself %s, but %s is required", effect, cmp.Or(s.level(a.Dir), "nothing"), least)
	}
	if err := a.verify(ctx, s); err != nil {
		return "", "", fmt.Errorf("%s: %w", effect, err)
	}
	if s.Replace.Version != "" && s.Replace.Path != Driver {
		effect += "\nnote: it is served under another name, so that its hash is not known"
	}
	if v1 := requirement(file, v1); v1 != nil && !v1.Indirect {
		effect += fmt.Sprintf("\nnote: its go.mod also requires v1 of the driver, %s, and the fork does not replace that", v1.Mod)
	}
	return effect, "", nil
}

// verify compares the release that the application is built with, as the go command has downloaded it and as go.sum has its hashes, with
// what is known of this release.
func (a Application) verify(ctx context.Context, s selected) error {
	if s.Replace.Version == "" || s.Replace.Path != Driver {
		return nil
	}
	known, from, err := a.Project.Sums(ctx, s.Replace.Version)
	if err != nil {
		return err
	}
	wanted := module.Version{Path: Driver, Version: s.Replace.Version}
	sums, err := read("", []string{filepath.Join(a.Dir, "go.sum"), a.work + ".sum"})
	goSum := string(bytes.Join(slices.Collect(maps.Values(sums)), []byte("\n")))
	if err == nil && s.Replace.Dir != "" && !vendored(a.Dir) {
		var line string
		line, err = sumLine(s.Replace.Dir, wanted)
		goSum += "\n" + line
	}
	if err != nil {
		return err
	}
	return compare(goSum, known, from, wanted)
}

// sumLine returns the line that go.sum would have for a module in a folder, which the go command does not hash after the download.
func sumLine(folder string, m module.Version) (string, error) {
	sum, err := dirhash.HashDir(folder, m.String(), dirhash.Hash1)
	return fmt.Sprintf("%s %s %s\n", m.Path, m.Version, sum), err
}

// compare compares lines of go.sum with those that are known.
func compare(goSum, known, from string, wanted module.Version) error {
	sums, found := map[module.Version]string{}, false
	for m, sum := range fork.SumLines(known) {
		sums[m] = sum
	}
	for m, sum := range fork.SumLines(goSum) {
		if want, is := sums[m]; is && sum != want {
			return fmt.Errorf("%s %s is not the release: its hash is %s, and %s has %s; whoever serves it has changed it: "+
				"find out who, and remove what was downloaded with go clean -modcache", m.Path, m.Version, sum, from, want)
		}
		found = found || m == wanted
	}
	if !found {
		return fmt.Errorf("go.sum has no hash of %s %s", wanted.Path, wanted.Version)
	}
	return nil
}
