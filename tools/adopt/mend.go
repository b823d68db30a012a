package adopt

import (
	"fmt"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// mends makes the application require versions without known vulnerabilities of the modules that the fork requires, unless that would raise
// its go line. Go mod tidy then drops those that the application does not use. It returns all that apply to the base.
func (c *Change) mends() ([]Mend, error) {
	if c.app.Mends == nil {
		return nil, nil
	}
	all, err := c.app.Mends(c.Base)
	for _, m := range all {
		if !c.runs(m) || requires(c.file, m) {
			continue
		}
		if requirement(c.file, m.Path) == nil {
			c.file.AddNewRequire(m.Path, m.Version.Version, true)
		} else if err := c.file.AddRequire(m.Path, m.Version.Version); err != nil {
			return nil, err
		}
	}
	return all, err
}

// runs reports whether the application's go line admits the version.
func (c *Change) runs(m Mend) bool { return semver.Compare("v"+c.file.Go.Version, "v"+m.Go) >= 0 }

func requires(file *modfile.File, m Mend) bool {
	r := requirement(file, m.Path)
	return r != nil && semver.Compare(r.Mod.Version, m.Version.Version) >= 0
}

// mended says which vulnerabilities disappear, and which stay.
func (c *Change) mended(all []Mend) (notes []string) {
	before, beforeErr := modfile.Parse("go.mod", c.Before["go.mod"], nil)
	after, err := modfile.Parse("go.mod", c.After["go.mod"], nil)
	if beforeErr != nil || err != nil {
		return nil
	}
	for _, m := range all {
		switch now := requirement(after, m.Path); {
		case now == nil || requires(before, m):
		case requires(after, m):
			notes = append(notes, fmt.Sprintf("%s of %s is required, because what the fork requires has the vulnerability %s",
				now.Mod.Version, m.Path, m.ID))
		default:
			notes = append(notes, fmt.Sprintf("%s of %s has the vulnerability %s: %s does not, but needs Go %s, and the go line has %s",
				now.Mod.Version, m.Path, m.ID, m.Version.Version, m.Go, c.file.Go.Version))
		}
	}
	return notes
}
