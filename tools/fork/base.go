package fork

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/mod/semver"

	"mongofork/tools/fork/advisory"
	"mongofork/tools/fork/plan"
)

// Bases returns the versions of upstream that have a lock, in ascending order.
func (p *Project) Bases() ([]string, error) {
	locks, err := filepath.Glob(filepath.Join(p.Root, filepath.FromSlash(lockFile("*"))))
	if err != nil {
		return nil, err
	}
	var bases []string
	for _, lock := range locks {
		if version := filepath.Base(filepath.Dir(lock)); semver.IsValid(version) {
			bases = append(bases, version)
		}
	}
	semver.Sort(bases)
	if len(bases) == 0 {
		return nil, fmt.Errorf("%s: no base has a lock (mongofork accept --all makes one)", lockFile("*"))
	}
	return bases, nil
}

// On returns the project on another base.
func (p *Project) On(base string) *Project {
	other := *p
	other.Base = base
	return &other
}

// checkBase refuses a base that is not a version: it would become the name of a folder, and of a module to download.
func (p *Project) checkBase() error {
	if p.Base != "" && semver.Canonical(p.Base) == p.Base {
		return nil
	}
	return fmt.Errorf("base %q is not a version such as v2.5.0", p.Base)
}

// FindRoot returns the nearest folder, from the given one upwards, that holds an overlay's configuration.
func FindRoot(start string) (string, error) {
	start, err := filepath.Abs(start)
	if err != nil {
		return "", err
	}
	for at := start; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, filepath.FromSlash(plan.FoldersFile))); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("no %s in %s or above: run this inside the repository", plan.FoldersFile, start)
		}
	}
}

// RefuseOpen returns a problem.List if the base has open advisories, other than the accepted ones.
func (p *Project) RefuseOpen() error {
	list, err := advisory.Read(p.Root)
	if err != nil {
		return err
	}
	return list.RefuseOpen(p.Base)
}
