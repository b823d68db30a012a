package fork

import "mongofork/tools/fork/advisory"

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
