package fork

import (
	"bytes"
	"os"
	"path/filepath"

	"mongofork/tools/fork/advisory"
)

// ReadAdvisories reads the project's list; a repository without one knows none.
func (p *Project) ReadAdvisories() (advisory.List, error) { return advisory.Read(p.Root) }

// RefuseOpen returns a problem.List if the base has open advisories, other than the accepted ones.
func (p *Project) RefuseOpen() error {
	list, err := p.ReadAdvisories()
	if err != nil {
		return err
	}
	return list.RefuseOpen(p.Base)
}

// SecurityPage says what is known about each base. A part of it is generated from the advisories.
const SecurityPage = "docs/security.md"

// WriteSecurityPage writes the part of the page that comes from the advisories. A repository without advisories needs no page.
func (p *Project) WriteSecurityPage() error {
	if list, err := p.ReadAdvisories(); err != nil || len(list) == 0 {
		return err
	}
	old, text, err := p.securityPage()
	if err != nil || bytes.Equal(old, text) {
		return err
	}
	return os.WriteFile(filepath.Join(p.Root, filepath.FromSlash(SecurityPage)), text, 0o644)
}

// securityPage returns the page's present and intended text.
func (p *Project) securityPage() (old, text []byte, err error) {
	list, err := p.ReadAdvisories()
	if err != nil {
		return nil, nil, err
	}
	bases, err := p.Bases()
	if err != nil {
		return nil, nil, err
	}
	if old, err = os.ReadFile(filepath.Join(p.Root, filepath.FromSlash(SecurityPage))); err != nil {
		return nil, nil, err
	}
	text, err = list.Page(SecurityPage, old, bases)
	return old, text, err
}
