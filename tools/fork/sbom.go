package fork

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"mongofork/tools/fork/syntax"
	"mongofork/tools/strict"
)

// purl names a module version as scanners do.
func purl(m module.Version) string { return "pkg:golang/" + m.Path + "@" + m.Version }

// sbom lists in the format of CycloneDX what a release consists of and what it requires. The hash of a module is that of go.sum, the
// SHA-256 of a list of its files.
func sbom(f Fork, modules []released, goSum string) ([]byte, error) {
	for _, m := range modules {
		goSum += string(m.tree["go.sum"])
	}
	sums := map[module.Version]string{}
	for m, sum := range SumLines(goSum) {
		if data, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(sum, "h1:")); err == nil {
			sums[m] = hex.EncodeToString(data)
		}
	}
	component := func(m module.Version) cdx.Component {
		c := cdx.Component{Type: cdx.ComponentTypeLibrary, BOMRef: purl(m), Name: m.Path, Version: m.Version, PackageURL: purl(m)}
		if sum, ok := sums[m]; ok {
			c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: sum}}
		}
		return c
	}
	components, needs := map[string]cdx.Component{}, []cdx.Dependency{}
	for _, m := range modules {
		components[purl(m.Version)] = component(m.Version)
		parsed, err := modfile.ParseLax("go.mod", m.tree["go.mod"], nil)
		if err != nil {
			return nil, err
		}
		var requires []string
		for _, r := range parsed.Require {
			if r.Mod.Path == modules[0].Path {
				r.Mod = modules[0].Version // which takes its place
			}
			requires = append(requires, purl(r.Mod))
			components[purl(r.Mod)] = component(r.Mod)
		}
		slices.Sort(requires)
		needs = append(needs, cdx.Dependency{Ref: purl(m.Version), Dependencies: &requires})
	}
	fork := component(f.Module())
	fork.Description = "A fork of MongoDB's driver that implements Client Backpressure. It is not by MongoDB, Inc."
	fork.Licenses = &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}}
	fork.Pedigree = &cdx.Pedigree{Ancestors: &[]cdx.Component{component(module.Version{Path: f.Plan.Module.Path,
		Version: f.Plan.Module.Version})}}
	delete(components, fork.BOMRef)
	var list []cdx.Component
	for _, ref := range slices.Sorted(maps.Keys(components)) {
		list = append(list, components[ref])
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Timestamp: f.Time.Format(time.RFC3339), Component: &fork}
	bom.Components, bom.Dependencies = &list, &needs
	var out bytes.Buffer
	err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
	return out.Bytes(), err
}

// Advisory is a published vulnerability of upstream or of a module that it requires, or an upstream fix without an advisory.
type Advisory struct {
	// ID is the advisory's ID, the fix's ticket, or a short name. Impact says what an attacker can do, or what goes wrong, Fixed which
	// of upstream's versions have a fix.
	ID, Title, Impact, Fixed string
	// Aliases are the names of other databases, such as GO-2026-1234, by which scanners report it.
	Aliases []string
	// Affected holds the ranges of upstream's versions that have the defect, in the terms of //fork:base.
	Affected []syntax.BaseRange
	// Mended says how the fork fixes what upstream did not; nil if it does not. By are the keys of the declarations that the overlay
	// touches or adds. Tests are the keys of the tests that fail without them.
	Mended *struct{ By, Tests []string }
	// Dependency is the module with the defect, if it is not upstream's: the first version without the defect, and the Go version that
	// this one needs.
	Dependency *struct{ Module, Fixed, Go string }
	// Accepted says, by base, why the fork may be built and handed out although the advisory is open.
	Accepted map[string]string
}

// Affects reports whether a version of upstream has the defect.
func (a Advisory) Affects(version string) bool {
	return slices.ContainsFunc(a.Affected, func(r syntax.BaseRange) bool { return r.Holds(version) })
}

// Advisories reads the repository's list of the known advisories and security fixes of upstream, in the order of the file; a repository
// without one knows none.
func (p *Project) Advisories() (list []Advisory, err error) {
	if err = strict.Read(p.file("etc/advisories.yaml"), &list); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return list, err
}

// vex says for each advisory whether a release is affected. It includes what upstream fixed in the base: scanners believe that the release,
// a pre-release of the base, is older. The format is OpenVEX v0.2.0, as far as advisories of one product need it. Its library is not used
// because it depends on protocol buffers and attestations, many times the code here.
func vex(advisories []Advisory, f Fork) ([]byte, error) {
	type object map[string]any
	statements, base := []object{}, f.Plan.Module.Version
	for _, a := range advisories {
		vulnerability := object{"name": a.ID, "description": a.Title}
		if len(a.Aliases) > 0 {
			vulnerability["aliases"] = a.Aliases
		}
		product := object{"@id": purl(f.Module())}
		s := object{"vulnerability": vulnerability, "products": []object{product}, "status": "fixed"}
		if a.Dependency != nil {
			product["subcomponents"] = []object{{"@id": "pkg:golang/" + a.Dependency.Module}}
		}
		switch {
		case !a.Affects(base) && a.Dependency != nil:
			s["status"], s["justification"] = "not_affected", "vulnerable_code_not_present"
			s["status_notes"] = "The fork requires " + a.Dependency.Fixed + " or later."
		case !a.Affects(base):
			s["status_notes"] = "Upstream's " + base + " does not have it."
		case a.Mended != nil:
			s["status_notes"] = "Fixed in the fork, with a test that fails without the fix."
		default:
			s["status"], s["action_statement"] = "affected", a.Accepted[base]
		}
		statements = append(statements, s)
	}
	return json.MarshalIndent(object{
		"@context": "https://openvex.dev/ns/v0.2.0", "@id": "urn:mongofork:" + f.Module().Version, "author": "mongofork",
		"timestamp": f.Time.Format(time.RFC3339), "version": 1, "statements": statements,
	}, "", "  ")
}
