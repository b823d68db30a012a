package fork

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/upstream"
)

// ConfigFile lists a project's overlay folders, one per line.
const ConfigFile = "etc/overlay"

// Project is a repository that holds an overlay.
type Project struct {
	// Root is the repository's directory.
	Root string
	// Base is the version of upstream to build on.
	Base string
	// Source provides upstream's modules.
	Source upstream.Source
}

// Folder is an overlay folder and where it is listed.
type Folder struct {
	Path string
	File string
	Line int
}

// LockFile returns the path of the base's lock, relative to the root.
func (p *Project) LockFile() string { return lockFile(p.Base) }

func lockFile(version string) string { return path.Join("etc/bases", version, "fork.lock") }

// FindRoot returns the nearest folder, from the given one upwards, that holds an overlay's configuration.
func FindRoot(start string) (string, error) {
	start, err := filepath.Abs(start)
	if err != nil {
		return "", err
	}
	for at := start; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, filepath.FromSlash(ConfigFile))); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("no %s in %s or above: run this inside the repository", ConfigFile, start)
		}
	}
}

// Folders reads the list of overlay folders.
func (p *Project) Folders() ([]Folder, error) {
	data, err := os.ReadFile(filepath.Join(p.Root, filepath.FromSlash(ConfigFile)))
	if err != nil {
		return nil, err
	}
	var folders []Folder
	scan := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; scan.Scan(); n++ {
		line, _, _ := strings.Cut(scan.Text(), "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if !fs.ValidPath(line) || line == "." {
			return nil, problem.List{{File: ConfigFile, Line: n, Mend: "name a folder below the root, such as x",
				Message: fmt.Sprintf("%q is not a folder of this repository", line)}}
		}
		folders = append(folders, Folder{line, ConfigFile, n})
	}
	return folders, scan.Err()
}

// hasLock reports whether something is at the lock's place.
func (p *Project) hasLock() bool {
	_, err := os.Lstat(filepath.Join(p.Root, filepath.FromSlash(p.LockFile())))
	return !errors.Is(err, fs.ErrNotExist)
}

// hasFile reports whether the repository has a regular file of this path.
func (p *Project) hasFile(name string) bool {
	info, err := os.Stat(filepath.Join(p.Root, filepath.FromSlash(name)))
	return err == nil && info.Mode().IsRegular()
}

// ReadLock reads the lock of the base.
func (p *Project) ReadLock() (*Lock, error) {
	if err := p.checkBase(); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(p.Root, filepath.FromSlash(p.LockFile())))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, p.noLock()
	}
	if err != nil {
		return nil, err
	}
	return ParseLock(p.LockFile(), data)
}

// Plan reads the overlay and matches it with the base. The error is a problem.List
// if an assertion failed, the lock's included.
func (p *Project) Plan(ctx context.Context) (*Plan, error) {
	lock, err := p.ReadLock()
	if err != nil {
		return nil, err
	}
	plan, problems, err := p.match(ctx, lock)
	if err != nil {
		return nil, err
	}
	// What a broken directive names is unknown, so "locked, but not named" would
	// only repeat its problem.
	known := len(problems) == 0 && !plan.Overlay.incomplete
	problems = append(problems, lock.check(plan, p.LockFile(), known)...)
	advisories, err := p.ReadAdvisories()
	if err != nil {
		return nil, err
	}
	if known {
		problems = append(problems, advisories.check(plan, AdvisoryFile)...)
	}
	if problems, err = p.inCheckout(plan, problems); err != nil {
		return nil, err
	}
	return plan, problems.OrNil()
}

// Match is Plan without the lock's fingerprints, for reviewing changed
// declarations.
func (p *Project) Match(ctx context.Context) (*Plan, error) {
	lock, err := p.ReadLock()
	if err != nil {
		return nil, err
	}
	plan, problems, err := p.match(ctx, lock)
	if err != nil {
		return nil, err
	}
	return plan, problems.OrNil()
}

func (p *Project) match(ctx context.Context, lock *Lock) (*Plan, problem.List, error) {
	m, problems, err := p.module(ctx, lock)
	if err != nil {
		return nil, nil, err
	}
	o, more, err := p.overlay()
	if err != nil {
		return nil, nil, err
	}
	plan, unmatched, err := Match(m, o)
	return plan, slices.Concat(problems, more, unmatched), err
}

// module obtains the base and compares it with the lock.
func (p *Project) module(ctx context.Context, lock *Lock) (*upstream.Module, problem.List, error) {
	m, err := p.Source.Module(ctx, lock.Module, p.Base)
	if err != nil {
		return nil, nil, err
	}
	problems, err := verifyModule(m, lock, p.LockFile())
	if lock.Version != p.Base {
		problems.Add(p.LockFile(), 0, "go run ./tools/cmd/mongofork accept --new --base "+p.Base, "the lock is for %s, not for %s", lock.Version, p.Base)
	}
	return m, problems, err
}

func (p *Project) overlay() (*Overlay, problem.List, error) {
	folders, err := p.Folders()
	if err != nil {
		return nil, nil, err
	}
	return ReadOverlay(os.DirFS(p.Root), p.Base, folders)
}

// Assemble plans and lays the overlay over the base, in memory.
func (p *Project) Assemble(ctx context.Context) (*Plan, *Assembly, error) {
	plan, err := p.Plan(ctx)
	if err != nil {
		return nil, nil, err
	}
	a, err := Assemble(plan)
	return plan, a, err
}

// Pristine returns the base as it is, verified against the lock.
func (p *Project) Pristine(ctx context.Context) (*Assembly, error) {
	lock, err := p.ReadLock()
	if err != nil {
		return nil, err
	}
	m, problems, err := p.module(ctx, lock)
	if err != nil {
		return nil, err
	}
	return Pristine(m), problems.OrNil()
}
