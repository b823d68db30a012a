package output

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"mongofork/tools/fork/advisory"
)

// documents returns the SBOM and the VEX document of a release, by file name.
func documents(f Fork, advisories advisory.List, modules []adapter, goSum string) (map[string][]byte, error) {
	fork := modules[0].Version
	bill, err := sbom(f, modules, goSum)
	if err != nil {
		return nil, err
	}
	statements, err := vex(advisories, f.Time, f.Plan.Module.Version, fork)
	return map[string][]byte{fork.Version + ".cdx.json": bill, fork.Version + ".openvex.json": statements}, err
}

// purl names a module version as scanners do.
func purl(m module.Version) string { return "pkg:golang/" + m.Path + "@" + m.Version }

// sbom lists in the format of CycloneDX what a release consists of and what it requires. The hash of a module is that of go.sum, the
// SHA-256 of a list of its files.
func sbom(f Fork, modules []adapter, goSum string) ([]byte, error) {
	components, needs, sums := map[string]cdx.Component{}, []cdx.Dependency{}, hashes(goSum)
	for _, m := range modules {
		maps.Copy(sums, hashes(string(m.tree[goSumFile])))
	}
	for _, m := range modules {
		components[purl(m.Version)] = component(m.Version, sums)
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
			components[purl(r.Mod)] = component(r.Mod, sums)
		}
		slices.Sort(requires)
		needs = append(needs, cdx.Dependency{Ref: purl(m.Version), Dependencies: &requires})
	}
	fork := component(modules[0].Version, sums)
	fork.Description = "A fork of MongoDB's driver that implements Client Backpressure. It is not by MongoDB, Inc."
	fork.Licenses = &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}}
	fork.Pedigree = &cdx.Pedigree{Ancestors: &[]cdx.Component{component(module.Version{Path: f.Plan.Module.Path,
		Version: f.Plan.Module.Version}, nil)}}
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

func component(m module.Version, sums map[string]string) cdx.Component {
	c := cdx.Component{Type: cdx.ComponentTypeLibrary, BOMRef: purl(m), Name: m.Path, Version: m.Version, PackageURL: purl(m)}
	if sum, ok := sums[purl(m)]; ok {
		c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: sum}}
	}
	return c
}

// hashes returns the hashes of the modules that lines of a go.sum name.
func hashes(goSum string) map[string]string {
	sums := map[string]string{}
	for line := range strings.Lines(goSum) {
		words := strings.Fields(line)
		if len(words) != 3 || strings.HasSuffix(words[1], "/go.mod") {
			continue
		}
		if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(words[2], "h1:")); err == nil {
			sums[purl(module.Version{Path: words[0], Version: words[1]})] = hex.EncodeToString(sum)
		}
	}
	return sums
}
