// Package advisories looks with govulncheck for published vulnerabilities of what this repository's modules depend on, in the Go vulnerability
// database as the module proxy has it.
package advisories

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mongofork/tools/command"
	"mongofork/tools/fork"
	"mongofork/tools/fork/filetree"
)

// Found is a vulnerability whose code a module can reach.
type Found struct {
	// ID is the database's name for it, Module and Version where it is, Fixed the first version without it, and Reached by what.
	ID, Module, Version, Fixed, Reached string
}

// Standard is the Module of what is in Go's standard library: whoever builds an application decides on that.
const Standard = "stdlib"

// Scanner scans modules.
type Scanner struct {
	// Database is the version of the module golang.org/x/vulndb, Tool that of govulncheck's package, as go run takes them.
	Database, Tool string
	// Index is the folder to which an index of the database is written.
	Index string
	Run   command.RunFunc
}

// entry is what the index says of an entry of the database.
type entry struct {
	ID       string    `json:"id"`
	Modified time.Time `json:"modified"`
}

// Prepare gets the database, and makes of its entries the files that govulncheck reads.
func (s Scanner) Prepare(ctx context.Context) error {
	out, err := s.Run(ctx, os.TempDir(), []string{"GOWORK=off", "GOFLAGS="}, "go", "mod", "download", "-json", s.Database)
	if err != nil {
		return err
	}
	var downloaded struct{ Dir string }
	if err := json.Unmarshal(out, &downloaded); err != nil {
		return err
	}
	entries, err := filepath.Glob(filepath.Join(downloaded.Dir, "data", "osv", "*.json"))
	if err != nil || len(entries) == 0 {
		return errors.Join(err, fmt.Errorf("%s has no entries in data/osv", s.Database))
	}
	var last time.Time
	modules := map[string]map[string]entry{}
	files := filetree.Tree{}
	for _, name := range entries {
		var e struct {
			entry
			Affected []struct{ Package struct{ Name string } }
		}
		text, err := os.ReadFile(name)
		if err := errors.Join(err, json.Unmarshal(text, &e)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, a := range e.Affected {
			if modules[a.Package.Name] == nil {
				modules[a.Package.Name] = map[string]entry{}
			}
			modules[a.Package.Name][e.ID] = e.entry
		}
		if e.Modified.After(last) {
			last = e.Modified
		}
		files["ID/"+e.ID+".json"] = text
	}
	type module struct {
		Path  string  `json:"path"`
		Vulns []entry `json:"vulns"`
	}
	var list []module
	for _, path := range slices.Sorted(maps.Keys(modules)) {
		m := module{Path: path}
		for _, id := range slices.Sorted(maps.Keys(modules[path])) {
			m.Vulns = append(m.Vulns, modules[path][id])
		}
		list = append(list, m)
	}
	listText, listErr := json.Marshal(list)
	aboutText, aboutErr := json.Marshal(map[string]time.Time{"modified": last})
	files["index/modules.json"], files["index/db.json"] = listText, aboutText
	if err := errors.Join(listErr, aboutErr, os.RemoveAll(s.Index)); err != nil {
		return err
	}
	return files.Write(s.Index)
}

// Scan returns what a module reaches, in order.
func (s Scanner) Scan(ctx context.Context, dir string) ([]Found, error) {
	out, err := s.Run(ctx, dir, []string{"GOWORK=off"}, "go", "run", s.Tool, "-format", "json", "-db",
		"file://"+filepath.ToSlash(s.Index), "./...")
	if err != nil {
		return nil, err
	}
	return read(bytes.NewReader(out))
}

// read reads govulncheck's messages.
func read(r io.Reader) ([]Found, error) {
	found := map[Found]string{}
	for d := json.NewDecoder(r); ; {
		var message struct {
			Finding *struct {
				OSV          string
				FixedVersion string `json:"fixed_version"`
				Trace        []struct{ Module, Version, Package, Receiver, Function string }
			}
		}
		err := d.Decode(&message)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		f := message.Finding
		if f == nil || len(f.Trace) == 0 || f.Trace[0].Function == "" { // only required, or imported
			continue
		}
		first, last := f.Trace[0], f.Trace[len(f.Trace)-1]
		key := Found{ID: f.OSV, Module: first.Module, Version: first.Version, Fixed: f.FixedVersion}
		if found[key] == "" {
			found[key] = strings.TrimPrefix(last.Package+"."+strings.TrimPrefix(last.Receiver+"."+last.Function, "."), ".")
		}
	}
	var list []Found
	for f, by := range found {
		f.Reached = by
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b Found) int { return strings.Compare(a.ID+a.Module, b.ID+b.Module) })
	return list, nil
}

// Judge returns what is to be said of what was found in a module: those that are open, and entries of the list that are not needed. Of the fork
// of a base, the list may accept some; of other modules, whose base is empty, none.
func Judge(found []Found, list []fork.Advisory, base string) (open []string) {
	accepted := map[string]bool{}
	for _, a := range list {
		if a.Dependency != nil && base != "" && a.Affects(base) && a.Accepted[base] != "" {
			accepted[a.ID] = true
		}
	}
	for _, f := range found {
		switch {
		case f.Module == Standard:
		case accepted[f.ID]:
			delete(accepted, f.ID)
		default:
			open = append(open, fmt.Sprintf("%s is open: %s %s, fixed in %s, reached by %s", f.ID, f.Module, f.Version, f.Fixed, f.Reached))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(accepted)) {
		open = append(open, id+" is accepted by etc/advisories.yaml, but is not found: remove the entry, or the base from it")
	}
	return open
}
