package output

import (
	"bytes"
	"fmt"
	"net/url"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"mongofork/tools/fork/advisory"
	"mongofork/tools/fork/filetree"
)

// sbom describes a released module as CycloneDX. It has neither a time nor a serial number, so that the same sources give the same
// bytes. Tools that write SBOMs, such as cyclonedx-gomod, know the requirements, but neither the ancestor nor the vulnerabilities.
type sbom struct{ *cdx.BOM }

// newSBOM says what a module needs.
func newSBOM(v module.Version, goMod, archive []byte) (sbom, error) {
	file, err := modfile.Parse("go.mod", goMod, nil)
	if err != nil {
		return sbom{}, err
	}
	self := component(v)
	self.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: filetree.Digest(archive)}}
	self.Licenses = &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}}
	components, refs := []cdx.Component{}, []string{}
	for _, r := range file.Require {
		c := component(r.Mod)
		components, refs = append(components, c), append(refs, c.BOMRef)
	}
	slices.Sort(refs)
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &self}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: self.BOMRef, Dependencies: &refs}}
	return sbom{bom}, nil
}

// forkOf says what the module was made from, and which of its ancestor's vulnerabilities it has.
func (b sbom) forkOf(of module.Version, as advisory.List) {
	self := b.Metadata.Component
	self.Pedigree = &cdx.Pedigree{
		Ancestors: &[]cdx.Component{component(of)},
		Notes:     fmt.Sprintf("A fork of %s %s, which it takes the place of.", of.Path, of.Version),
	}
	var list []cdx.Vulnerability
	for _, a := range as {
		v := cdx.Vulnerability{ID: a.ID, Description: a.Title, Detail: a.Impact, Affects: &[]cdx.Affects{{Ref: self.BOMRef}}}
		switch a.State(of.Version) {
		case advisory.MendedHere:
			v.Analysis = &cdx.VulnerabilityAnalysis{State: cdx.IASResolvedWithPedigree, Detail: "fixed by the fork: " + strings.Join(a.Mending(of.Version).By, ", ")}
		case advisory.Open:
			v.Analysis = &cdx.VulnerabilityAnalysis{State: cdx.IASExploitable, Detail: a.Accepted[of.Version]}
		default:
			v.Analysis = &cdx.VulnerabilityAnalysis{State: cdx.IASNotAffected, Justification: cdx.IAJCodeNotPresent, Detail: "fixed by upstream in " + a.Fixed}
		}
		list = append(list, v)
	}
	if list != nil {
		b.Vulnerabilities = &list
	}
}

func (b sbom) encode() ([]byte, error) {
	var out bytes.Buffer
	err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(b.BOM, cdx.SpecVersion1_6)
	return out.Bytes(), err
}

// component describes a module by its package URL.
func component(v module.Version) cdx.Component {
	elements := strings.Split(v.Path, "/")
	for i, e := range elements {
		elements[i] = url.PathEscape(e)
	}
	purl := "pkg:golang/" + strings.Join(elements, "/") + "@" + url.PathEscape(v.Version)
	return cdx.Component{BOMRef: purl, Type: cdx.ComponentTypeLibrary, Name: v.Path, Version: v.Version, PackageURL: purl}
}
