package adopt

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"al.essio.dev/pkg/shellescape"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
	"golang.org/x/mod/sumdb/dirhash"
)

// selected is the driver that an application is built with, as the go command tells.
type selected struct {
	Version string
	Replace *struct{ Path, Version, Dir string }
}

// selected asks the go command for the driver in effect, in the environment as it is.
func (a Application) selected(ctx context.Context, flags ...string) (*selected, error) {
	out, err := a.Run(ctx, a.Dir, nil, "go", slices.Concat([]string{"list", "-m", "-json"}, flags, []string{Driver})...)
	if err != nil {
		return nil, err
	}
	s := new(selected)
	return s, json.Unmarshal(out, s)
}

// replacement names what takes the driver's place.
func (s *selected) replacement() string {
	return strings.TrimSpace(s.Replace.Path + " " + s.Replace.Version)
}

var (
	// driverVersion finds the version that upstream's package version states, patchLevel how a fork calls itself.
	driverVersion = regexp.MustCompile(`(?m)^var Driver = "([0-9.]+)"`)
	patchLevel    = regexp.MustCompile(`(?m)^const Fork = "([^"]+)"$`)
)

// constant returns what a file of the package version says of the driver in a folder; empty if there is none.
func constant(folder, file string, form *regexp.Regexp) string {
	source, _ := os.ReadFile(filepath.Join(folder, "version", file))
	if found := form.FindSubmatch(source); found != nil {
		return string(found[1])
	}
	return ""
}

// fork returns the base of the fork that takes the driver's place; empty if it is none.
func (s *selected) fork(a Application) string {
	r := s.Replace
	if r == nil {
		return ""
	}
	if base, _, ok := strings.Cut(r.Version, release); ok {
		return base
	}
	if r.Version == "" && constant(r.Dir, "fork.go", patchLevel) != "" {
		return "v" + constant(r.Dir, "version.go", driverVersion)
	}
	// A vendored application does not need the folder of its replace line; and releases may have other names.
	if file, err := parse(a.Dir); err == nil && slices.ContainsFunc(replacements(file), func(line *modfile.Replace) bool {
		return line.Old.Version == s.Version && line.New.Version == r.Version && ours(line, a.Dir)
	}) {
		return s.Version
	}
	return ""
}

// Check reports what the application is built with, in the present environment. Upstream's driver is an error, and so is a fork of a
// version below the required one, or of a patch level below the wanted one.
func (a Application) Check(ctx context.Context, least string) (string, error) {
	effect, s, err := a.check(ctx)
	switch {
	case err != nil && s != nil:
		err = fmt.Errorf("%w: %s", err, a.advice(s))
	case err == nil && least != "" && !reaches(a.level(s), least):
		err = fmt.Errorf("%s, which calls itself %s, but %s is required: take a later one, and %s", effect,
			cmp.Or(a.level(s), "nothing"), least, a.CommandLine(a.Dir))
	}
	return effect, err
}

// advice says how to replace what is selected by the fork.
func (a Application) advice(s *selected) string {
	if s.Replace != nil && s.fork(a) == "" {
		return "remove that replace line first"
	}
	if _, tooNew := choose(a.Bases, "", s.Version); tooNew != nil {
		return tooNew.Error()
	}
	return a.CommandLine(a.Dir) + " puts the fork in its place"
}

// level returns the patch level of the fork that the application is built with; empty if it is not known.
func (a Application) level(s *selected) string {
	if _, level, ok := strings.Cut(s.Replace.Version, "-"); ok {
		return level
	}
	folder := s.Replace.Dir
	if vendored(a.Dir) {
		folder = filepath.Join(a.Dir, "vendor", filepath.FromSlash(Driver)) // this is what it is built with
	}
	return constant(folder, "fork.go", patchLevel)
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
	command := []string{"go", "-C", a.Root, "run", "./tools/cmd/mongofork", "use"}
	return shellescape.QuoteCommand(append(append(command, flags...), dir))
}

// check says which driver is in effect. If it is none of ours, that is an error.
func (a Application) check(ctx context.Context) (effect string, s *selected, err error) {
	file, err := parse(a.Dir)
	if err != nil {
		return "", nil, err
	}
	work, err := a.workspace(ctx)
	if err != nil {
		return "", nil, err
	}
	defer func() { err = errors.Join(err, work.restore()) }()
	if s, err = a.selected(ctx); err != nil {
		return "", nil, a.explain(ctx, err, file)
	}
	name, base := file.Module.Mod.Path, s.fork(a)
	switch {
	case base != "" && semver.Compare(base, s.Version) >= 0:
		effect = fmt.Sprintf("%s is built with the fork of %s, by %s", name, base, s.replacement())
		note, verifyErr := a.verified(ctx, s, work)
		if verifyErr != nil {
			return "", nil, fmt.Errorf("%s: %w", effect, verifyErr)
		}
		effect += note
		if v1 := requirement(file, v1); v1 != nil && !v1.Indirect {
			effect += fmt.Sprintf("\nnote: its go.mod also requires v1 of the driver, %s, and the fork does not replace that",
				v1.Mod)
		}
	case base != "":
		err = fmt.Errorf("%s is built with the fork of %s, a step back from %s, which it requires", name, base, s.Version)
	case s.Replace != nil:
		err = fmt.Errorf("%s is built with %s in the driver's place, which is not the fork", name, s.replacement())
	default:
		err = fmt.Errorf("%s is built with upstream's driver, %s", name, s.Version)
	}
	return effect, s, err
}

// verified compares the release that the application is built with, as the go command has downloaded it and as go.sum has its hashes, with
// what is known of this release. It returns a note about what it cannot compare.
func (a Application) verified(ctx context.Context, s *selected, work workspace) (note string, err error) {
	switch r := s.Replace; {
	case r.Version == "":
		return "", nil
	case r.Path != Driver:
		return "\nnote: it is served under another name, so that its hash is not known", nil
	}
	var sums []byte
	for _, name := range []string{filepath.Join(a.Dir, "go.sum"), work.file + ".sum"} {
		text, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		sums = append(append(sums, text...), '\n')
	}
	if s.Replace.Dir != "" && !vendored(a.Dir) {
		sum, err := dirhash.HashDir(s.Replace.Dir, Driver+"@"+s.Replace.Version, dirhash.Hash1)
		if err != nil {
			return "", err
		}
		sums = fmt.Appendf(sums, "%s %s %s\n", Driver, s.Replace.Version, sum)
	}
	return "", a.verify(ctx, s.Replace.Version, sums)
}

// verify compares lines of go.sum with those that are known of a release. There has to be one for the fork.
func (a Application) verify(ctx context.Context, version string, lines []byte) error {
	known, from, err := a.Sums(ctx, version)
	if err != nil {
		return err
	}
	sums := map[string]string{}
	for line := range strings.Lines(known) {
		if words := strings.Fields(line); len(words) == 3 {
			sums[words[0]+" "+words[1]] = words[2]
		}
	}
	found := false
	for line := range strings.Lines(string(lines)) {
		words := strings.Fields(line)
		if len(words) != 3 {
			continue
		}
		name := words[0] + " " + words[1]
		if sum, is := sums[name]; is && sum != words[2] {
			return fmt.Errorf("%s is not the release: its hash is %s, and %s has %s; whoever serves it has changed it: "+
				"find out who, and remove what was downloaded with go clean -modcache", name, words[2], from, sum)
		}
		found = found || name == Driver+" "+version
	}
	if !found {
		return fmt.Errorf("go.sum has no hash of %s %s", Driver, version)
	}
	return nil
}

// explain returns the error for an application in which the go command finds no driver: it says what the application uses instead.
func (a Application) explain(ctx context.Context, err error, file *modfile.File) error {
	if !strings.Contains(err.Error(), "not a known dependency") {
		return err
	}
	modules, listErr := a.Run(ctx, a.Dir, nil, "go", "list", "-m")
	if listErr == nil && !slices.Contains(strings.Fields(string(modules)), file.Module.Mod.Path) {
		return fmt.Errorf("%s is below a go.work file that does not list it: add it there with go work use, or set GOWORK=off",
			file.Module.Mod.Path)
	}
	if v1 := requirement(file, v1); v1 != nil {
		return fmt.Errorf("%s uses v1 of the driver, %s, and the fork is of v2: move to v2 first, "+
			"with https://github.com/mongodb/mongo-go-driver/blob/master/docs/migration-2.0.md", file.Module.Mod.Path, v1.Mod)
	}
	return fmt.Errorf("%s does not depend on %s", file.Module.Mod.Path, Driver)
}

// choose returns the lowest base that is not below the required version, or the wanted one. As with any requirement in go.mod,
// the application may get a newer driver than it asks for, never an older one.
func choose(bases []string, wanted, required string) (string, error) {
	if wanted != "" {
		switch {
		case !slices.Contains(bases, wanted):
			return "", fmt.Errorf("there is no base %s; there are %s", wanted, strings.Join(bases, ", "))
		case semver.Compare(wanted, required) < 0:
			return "", fmt.Errorf("%s of the driver is required, and the fork of %s would be a step back; leave --base out",
				required, wanted)
		}
		return wanted, nil
	}
	for _, base := range bases {
		if semver.Compare(base, required) >= 0 {
			return base, nil
		}
	}
	return "", fmt.Errorf("%s of the driver is required, which is newer than every base (%s): a fork of an older one would be a "+
		"step back; tools/fork/README.md says how a base is added", required, strings.Join(bases, ", "))
}
