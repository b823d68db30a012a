// Package advisories looks with govulncheck for published vulnerabilities of what this repository's modules depend on, in the Go
// vulnerability database as the module proxy has it.
package advisories

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mongofork/tools/command"
	"mongofork/tools/fork"
)

// Found is a vulnerability whose code a module can reach.
type Found struct {
	// ID is the database's name for it, Module and Version where it is, Fixed the first version without it, and Reached by what.
	ID, Module, Version, Fixed, Reached string
}

// standard is the Module of what is in Go's standard library: whoever builds an application decides on that.
const standard = "stdlib"

// Prepare gets the database, a version of the module golang.org/x/vulndb, and makes of its entries, with its own command, the files that
// govulncheck reads, in the folder index.
func Prepare(ctx context.Context, database, index string) error {
	env := []string{"GOWORK=off", "GOFLAGS="}
	out, err := command.Output(ctx, os.TempDir(), env, "go", "mod", "download", "-json", database)
	if err != nil {
		return err
	}
	var downloaded struct{ Dir string }
	if err := errors.Join(json.Unmarshal(out, &downloaded), os.RemoveAll(index)); err != nil {
		return err
	}
	_, err = command.Output(ctx, os.TempDir(), env, "go", "run", strings.Replace(database, "@", "/cmd/indexdb@", 1),
		"-vulns", filepath.Join(downloaded.Dir, "data", "osv"), "-out", index)
	return err
}

// Scan returns what the module in a folder reaches, in order, by a version of govulncheck.
func Scan(ctx context.Context, tool, index, folder string) ([]Found, error) {
	out, err := command.Output(ctx, folder, []string{"GOWORK=off"}, "go", "run", tool, "-format", "json", "-db",
		"file://"+filepath.ToSlash(index), "./...")
	if err != nil {
		return nil, err
	}
	return read(out)
}

func read(messages []byte) (list []Found, err error) {
	for d := json.NewDecoder(bytes.NewReader(messages)); d.More(); {
		var message struct {
			Finding struct {
				OSV          string
				FixedVersion string `json:"fixed_version"`
				Trace        []struct{ Module, Version, Package, Receiver, Function string }
			}
		}
		if err := d.Decode(&message); err != nil {
			return nil, err
		}
		f := message.Finding
		if len(f.Trace) == 0 || f.Trace[0].Function == "" { // only required, or imported
			continue
		}
		first, last := f.Trace[0], f.Trace[len(f.Trace)-1]
		reached := strings.TrimPrefix(last.Package+"."+strings.TrimPrefix(last.Receiver+"."+last.Function, "."), ".")
		if !slices.ContainsFunc(list, func(o Found) bool { return o.ID == f.OSV && o.Module == first.Module }) {
			list = append(list, Found{f.OSV, first.Module, first.Version, f.FixedVersion, reached})
		}
	}
	slices.SortFunc(list, func(a, b Found) int { return strings.Compare(a.ID+a.Module, b.ID+b.Module) })
	return list, nil
}

// Judge says what was found in a module: how much, what of it is open, and which entries of the list are not needed. Of the fork of a base
// the list may accept some; the name of any other module is no base's.
func Judge(found []Found, list []fork.Advisory, base string) (said string, open bool) {
	accepted, lines, inGo := map[string]bool{}, []string{""}, 0
	for _, a := range list {
		if a.Dependency != nil && a.Accepted[base] != "" {
			accepted[a.ID] = true
		}
	}
	for _, f := range found {
		switch {
		case f.Module == standard:
			inGo++
		case accepted[f.ID]:
			delete(accepted, f.ID)
		default:
			lines = append(lines, fmt.Sprintf("%s is open: %s %s, fixed in %s, reached by %s",
				f.ID, f.Module, f.Version, f.Fixed, f.Reached))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(accepted)) {
		lines = append(lines, id+" is accepted by etc/advisories.yaml, but is not found: remove the entry, or the base from it")
	}
	lines[0] = fmt.Sprintf("%d reached in dependencies, %d open; %d in the standard library of this Go",
		len(found)-inGo, len(lines)-1, inGo)
	return strings.Join(lines, "\n  "), len(lines) > 1
}
