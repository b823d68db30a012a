package adopt

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"mongofork/tools/fork"
)

// selected is the driver that an application is built with, as the go command tells.
type selected struct {
	Version string
	Replace *struct{ Path, Version, Dir string }
}

func (a Application) selected(ctx context.Context, flags ...string) (s selected, err error) {
	out, err := a.goCommand(ctx, nil, slices.Concat([]string{"list", "-m", "-json"}, flags, []string{Driver})...)
	if file, parseErr := parse(a.Dir); err != nil && parseErr == nil && requirement(file, v1) != nil {
		err = fmt.Errorf("%w\nthe fork is not of v1 of the driver: move to v2 first, with "+
			"https://github.com/mongodb/mongo-go-driver/blob/master/docs/migration-2.0.md", err)
	}
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal([]byte(out), &s)
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
	if file, err := parse(dir); err == nil && vendored(dir) {
		for _, line := range replacements(file) {
			if line.Old.Version == s.Version && ours(line, dir) {
				return s.Version
			}
		}
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

// Check says what the application is built with, in the present environment. Upstream's driver is an error, and so is a fork of a version
// below the required one, or of a patch level below the wanted one.
func (a Application) Check(ctx context.Context, least string) (string, error) {
	file, err := parse(a.Dir)
	bases, basesErr := a.Project.Bases()
	if err := errors.Join(err, basesErr); err != nil {
		return "", err
	}
	s, err := a.selected(ctx)
	if err != nil {
		return "", err
	}
	name, base, mend := file.Module.Mod.Path, s.base(a.Dir), a.CommandLine("use", realFolder(a.Dir))+" puts the fork in its place"
	if _, tooNew := choose(bases, "", s.Version); tooNew != nil {
		mend = tooNew.Error()
	}
	switch {
	case s.Replace == nil:
		return "", fmt.Errorf("%s is built with upstream's driver, %s: %s", name, s.Version, mend)
	case base == "":
		return "", fmt.Errorf("%s is built with %s in the driver's place, which is not the fork, or not there: remove that "+
			"replace line, or run %s", name, s.replacement(), a.CommandLine("build", "--base", s.Version))
	case semver.Compare(base, s.Version) < 0:
		return "", fmt.Errorf("%s is built with the fork of %s, a step back from the required %s: %s", name, base, s.Version, mend)
	}
	effect := fmt.Sprintf("%s is built with the fork of %s, by %s", name, base, s.replacement())
	if level := s.level(a.Dir); least != "" && !reaches(level, least) {
		return "", fmt.Errorf("%s, which calls itself %s, but %s is required: take a later one, and %s", effect,
			cmp.Or(level, "nothing"), least, a.CommandLine("use", realFolder(a.Dir)))
	}
	if err := a.verify(ctx, s); err != nil {
		return "", fmt.Errorf("%s: %w", effect, err)
	}
	return effect, nil
}

// verify compares the release that the application is built with, as go.sum has its hashes, with what is known of this release. The go
// command compares what it downloads with go.sum, and "go mod verify" what it has downloaded before.
func (a Application) verify(ctx context.Context, s selected) error {
	if s.Replace.Version == "" || s.Replace.Path != Driver {
		return nil
	}
	known, from, err := a.Project.Sums(ctx, s.Replace.Version)
	goSum, readErr := os.ReadFile(filepath.Join(a.Dir, "go.sum"))
	if err := errors.Join(err, readErr); err != nil {
		return err
	}
	sums, found := maps.Collect(fork.SumLines(known)), false
	for m, sum := range fork.SumLines(string(goSum)) {
		if want, is := sums[m]; is && sum != want {
			return fmt.Errorf("%s %s is not the release: its hash is %s, and %s has %s; whoever serves it has changed it: "+
				"find out who, and remove what was downloaded with go clean -modcache", m.Path, m.Version, sum, from, want)
		}
		found = found || m == module.Version{Path: Driver, Version: s.Replace.Version}
	}
	if !found {
		return fmt.Errorf("go.sum has no hash of %s %s", Driver, s.Replace.Version)
	}
	return nil
}

var plain = regexp.MustCompile(`^[-./\w]+$`) // to a shell

// CommandLine returns the command line that does something with the application of a folder.
func (a Application) CommandLine(args ...string) string {
	words := slices.Concat([]string{"go", "-C", a.Project.Root, "run", "./tools/cmd/mongofork"}, args)
	for i, word := range words {
		if !plain.MatchString(word) {
			words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

func vendored(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(modules)))
	return err == nil
}
