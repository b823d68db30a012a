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

// sbom describes a released module as CycloneDX: what it is made of, and, of the fork, what it was made from and which of its
// ancestor's vulnerabilities it has. It has neither a time nor a serial number, so that the same sources give the same bytes.
func sbom(v module.Version, goMod, archive []byte, of *module.Version, advisories advisory.List) ([]byte, error) {
	file, err := modfile.Parse("go.mod", goMod, nil)
	if err != nil {
		return nil, err
	}
	self := component(v)
	self.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: filetree.Digest(archive)}}
	self.Licenses = &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}}
	bom := cdx.NewBOM()
	if of != nil {
		self.Pedigree = &cdx.Pedigree{
			Ancestors: &[]cdx.Component{component(*of)},
			Notes:     fmt.Sprintf("A fork of %s %s, which it takes the place of.", of.Path, of.Version),
		}
		bom.Vulnerabilities = vulnerabilities(advisories, self.BOMRef, of.Version)
	}
	bom.Metadata = &cdx.Metadata{Component: &self}
	components, refs := []cdx.Component{}, []string{}
	for _, r := range file.Require {
		c := component(r.Mod)
		components, refs = append(components, c), append(refs, c.BOMRef)
	}
	slices.Sort(refs)
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: self.BOMRef, Dependencies: &refs}}
	var out bytes.Buffer
	err = cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
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

// vulnerabilities returns those of a version of upstream, with their state in the fork on it.
func vulnerabilities(as advisory.List, ref, version string) *[]cdx.Vulnerability {
	var list []cdx.Vulnerability
	for _, a := range as {
		v := cdx.Vulnerability{ID: a.ID, Description: a.Title, Detail: a.Impact, Affects: &[]cdx.Affects{{Ref: ref}}}
		switch a.State(version) {
		case advisory.MendedHere:
			v.Analysis = &cdx.VulnerabilityAnalysis{State: cdx.IASResolvedWithPedigree, Detail: "fixed by the fork: " + strings.Join(a.Mended[version].By, ", ")}
		case advisory.Open:
			v.Analysis = &cdx.VulnerabilityAnalysis{State: cdx.IASExploitable}
		default:
			v.Analysis = &cdx.VulnerabilityAnalysis{State: cdx.IASNotAffected, Justification: cdx.IAJCodeNotPresent, Detail: "fixed by upstream in " + a.Fixed}
		}
		list = append(list, v)
	}
	if list == nil {
		return nil
	}
	return &list
}
