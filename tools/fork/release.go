package fork

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
	"mongofork/tools/strict"
)

// released is a module of a release. The modules of a release work only with each other.
type released struct {
	module.Version
	tree filetree.Tree
}

// Release is a folder that serves as a GOPROXY.
type Release struct {
	Fork   Fork
	Files  filetree.Tree
	Record []byte // ReleasedFile with a release that is for good; nil if it is not
}

// Release builds the fork and the adapters as modules for a GOPROXY, with an SBOM, a VEX document, the lines for go.sum, and SHA256SUMS. If
// final is not empty, it is the version to publish. It is a problem if ReleasedFile has this version with another hash.
func (p *Project) Release(ctx context.Context, final string) (*Release, error) {
	f, err := p.Fork(ctx, final != "")
	if err != nil {
		return nil, err
	}
	version, err := f.Released()
	advisories, listErr := p.Advisories()
	if err := errors.Join(err, listErr); err != nil {
		return nil, err
	}
	if final != "" && final != version.Version {
		return nil, problem.One(PatchLevelFile, "change Fork in layers/extras/name/version/fork.go",
			"the fork calls itself %s, not %s", version.Version, final)
	}
	modules := []released{{version, assemble.Headed(f.Plan.Module.Tree, f.Tree)}}
	for _, name := range []string{"otel", "prometheus"} {
		a, err := p.adapter(name, f.Level)
		if err == nil {
			modules = append(modules, a)
		} else if !errors.Is(err, fs.ErrNotExist) { // a repository may lack it
			return nil, err
		}
	}
	files, goSum := filetree.Tree{}, ""
	for _, m := range modules {
		sum, err := m.tree.Hash(m.String() + "/")
		goModSum, modErr := filetree.Tree{"go.mod": m.tree["go.mod"]}.Hash("")
		if err := errors.Join(err, modErr, m.addTo(files)); err != nil {
			return nil, err
		}
		goSum += fmt.Sprintf("%[1]s %[2]s %[3]s\n%[1]s %[2]s/go.mod %[4]s\n", m.Path, m.Version.Version, sum, goModSum)
	}
	at := path.Join(version.Path, "@v", version.Version)
	bill, err := sbom(f, modules, goSum)
	statements, vexErr := vex(advisories, f)
	record, recordErr := p.recorded(goSum)
	if err := errors.Join(err, vexErr, recordErr); err != nil {
		return nil, err
	}
	files[at+".cdx.json"], files[at+".openvex.json"] = bill, statements
	files["go.sum"] = []byte(goSum)
	var sums []byte
	for _, name := range files.Paths() {
		sums = fmt.Appendln(sums, written(name, files[name]))
	}
	files["SHA256SUMS"] = sums
	if final == "" {
		record = nil
	}
	return &Release{Fork: f, Files: files, Record: record}, nil
}

// Publish writes a release to a folder of its own, or compares it with what is there. If it is final, nothing else can ever be released
// under its name.
func (p *Project) Publish(r *Release, dir string) error {
	have, err := filetree.Read(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if differ := filetree.Changed(have, r.Files); len(have) > 0 && len(differ) > 0 {
		return problem.One(dir, "choose another folder with -o, or check out the commit that it was made from",
			"the folder holds something else: %s is not what this working copy builds with %s", differ[0], runtime.Version())
	}
	if err := r.Files.Write(dir); err != nil || r.Record == nil {
		return err
	}
	return filetree.Replace(p.file(ReleasedFile), r.Record)
}

// adapter reads an adapter: a module below contrib that is released with the fork. Its version is only the patch level, because it works
// with every base. Its tests and replace lines are left out, because they serve work in this repository.
func (p *Project) adapter(name, level string) (a released, err error) {
	if a.tree, err = filetree.Read(p.file("contrib/" + name)); err != nil {
		return a, err
	}
	maps.DeleteFunc(a.tree, func(name string, _ []byte) bool { return strings.HasSuffix(name, "_test.go") })
	parsed, err := modfile.Parse(name, a.tree["go.mod"], nil)
	if err != nil {
		return a, err
	}
	a.Version = module.Version{Path: parsed.Module.Mod.Path, Version: "v0.0.0-" + level}
	for _, r := range slices.Clone(parsed.Replace) {
		err = errors.Join(err, parsed.DropReplace(r.Old.Path, r.Old.Version))
	}
	parsed.Cleanup()
	text, formatErr := parsed.Format()
	licence, readErr := os.ReadFile(p.file("LICENSE"))
	a.tree["go.mod"], a.tree["LICENSE"] = text, licence
	return a, errors.Join(err, formatErr, readErr)
}

// addTo adds the files of a version as the proxy protocol wants them. The .info has no time, so that the same sources give the same files.
func (m released) addTo(files filetree.Tree) error {
	escaped, err := module.EscapePath(m.Path)
	if err := errors.Join(err, module.Check(m.Path, m.Version.Version)); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mongofork-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var archive bytes.Buffer
	if err := errors.Join(m.tree.Write(dir), zip.CreateFromDir(&archive, m.Version, dir)); err != nil {
		return err
	}
	base := path.Join(escaped, "@v", m.Version.Version)
	maps.Copy(files, filetree.Tree{
		base + ".info":                fmt.Appendf(nil, "{%q:%q}\n", "Version", m.Version.Version),
		base + ".mod":                 m.tree["go.mod"],
		base + ".zip":                 archive.Bytes(),
		path.Join(escaped, "@v/list"): []byte(m.Version.Version + "\n"),
	})
	return nil
}

// ReleasedFile has the lines for go.sum of all versions that were released, of the fork on any base and of the adapters: the checksum
// database and users' go.sum never forget a version.
const ReleasedFile = "etc/released.sum"

// recorded returns the content of ReleasedFile with a release's lines, too. A version that it has with another hash is a problem.
func (p *Project) recorded(goSum string) ([]byte, error) {
	data, err := os.ReadFile(p.file(ReleasedFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	lines := slices.Compact(slices.Sorted(strings.Lines(string(data) + goSum)))
	for i, line := range lines[1:] {
		version := line[:strings.LastIndex(line, " ")+1]
		if strings.HasPrefix(lines[i], version) {
			return nil, problem.One(ReleasedFile, "raise Fork in layers/extras/name/version/fork.go",
				"%swas released with different content", version)
		}
	}
	return []byte(strings.Join(lines, "")), nil
}

// SumLines yields the modules that lines of a go.sum file name, and their hashes. The version of a go.mod file's hash ends in /go.mod.
func SumLines(goSum string) iter.Seq2[module.Version, string] {
	return func(yield func(module.Version, string) bool) {
		for line := range strings.Lines(goSum) {
			words := strings.Fields(line)
			if len(words) == 3 && !yield(module.Version{Path: words[0], Version: words[1]}, words[2]) {
				return
			}
		}
	}
}

// Sums returns the lines that an application's go.sum may contain for a release of the fork and of its adapters, and where these lines come
// from: ReleasedFile, or what this working copy builds.
func (p *Project) Sums(ctx context.Context, version string) (goSum, from string, err error) {
	base, level, _ := strings.Cut(version, "-")
	data, err := os.ReadFile(p.file(ReleasedFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", "", err
	}
	for m, sum := range SumLines(string(data)) {
		if slices.Contains([]string{version, "v0.0.0-" + level}, strings.TrimSuffix(m.Version, "/go.mod")) {
			goSum += fmt.Sprintln(m.Path, m.Version, sum)
		}
	}
	if strings.Contains("\n"+goSum, "\n"+p.Module+" "+version+" ") {
		return goSum, ReleasedFile, nil
	}
	r, err := p.On(base).Release(ctx, "")
	if err != nil {
		return "", "", err
	}
	if built := r.Fork.Module().Version; built != version {
		return "", "", fmt.Errorf("the hash of %s is not known here: %s does not have it, and this working copy makes %s; "+
			"check out the commit that it was made from", version, ReleasedFile, built)
	}
	return string(r.Files["go.sum"]), "this working copy", nil
}

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
	Aliases                  []string // the names of other databases, such as GO-2026-1234, by which scanners report it
	// Affected holds the ranges of upstream's versions that have the defect, in the terms of //fork:base.
	Affected []syntax.BaseRange
	// Mended says how the fork fixes what upstream did not; nil if it does not. By are the keys of the declarations that the overlay
	// touches or adds. Tests are the keys of the tests that fail without them.
	Mended *struct{ By, Tests []string }
	// Dependency is the module with the defect, if it is not upstream's: the first version without the defect, and the Go version that
	// this one needs.
	Dependency *struct{ Module, Fixed, Go string }
	Accepted   map[string]string // says, by base, why the fork may be built and handed out although the advisory is open
}

func (a Advisory) Affects(version string) bool {
	return slices.ContainsFunc(a.Affected, func(r syntax.BaseRange) bool { return r.Holds(version) })
}

// Advisories reads the repository's list of the known advisories and security fixes of upstream, in the order of the file; a repository
// without one knows none.
func (p *Project) Advisories() (list []Advisory, err error) {
	err = strict.Optional(p.file("etc/advisories.yaml"), &list)
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
