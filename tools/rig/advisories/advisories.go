// Package advisories looks with govulncheck for published vulnerabilities of what this repository's modules depend on, in the Go
// vulnerability database as the module proxy has it.
package advisories

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mongofork/tools/command"
	"mongofork/tools/fork"
)

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

// Scan returns what a version of govulncheck says of the module in a folder.
func Scan(ctx context.Context, tool, index, folder string) (string, error) {
	out, err := command.Output(ctx, folder, []string{"GOWORK=off"}, "go", "run", tool,
		"-db", "file://"+filepath.ToSlash(index), "./...")
	if complete.Match(out) {
		err = nil // it fails if it has found something
	}
	return string(out), err
}

var (
	complete = regexp.MustCompile(`(?m)^(?:Your code is affected by (\d+)|No vulnerabilities found)`)
	// found is a vulnerability whose code the module reaches, with the first of the ways: its name in the database, and what it is in.
	found = regexp.MustCompile(`(?ms)^Vulnerability #\d+: (\S+)\n.*?^  (?:Module: \S+|(Standard library))$.*?^      #1: [^\n]*`)
)

// Judge says what was found in a module: how much, what of it is open, and which entries of the list are not needed. Of the fork of a base
// the list may accept some; the name of any other module is no base's. Whoever builds an application decides on the standard library.
func Judge(scan string, list []fork.Advisory, base string) (said string, open bool) {
	accepted, lines, inGo := map[string]bool{}, []string{""}, 0
	for _, a := range list {
		if a.Dependency != nil && a.Accepted[base] != "" {
			accepted[a.ID] = true
		}
	}
	all := found.FindAllStringSubmatch(scan, -1)
	if told := complete.FindStringSubmatch(scan); told != nil && told[1] != "" && told[1] != fmt.Sprint(len(all)) {
		lines = append(lines, "open: of "+told[1]+" vulnerabilities the report has not the form that is read here")
	}
	for _, f := range all {
		switch {
		case f[2] != "":
			inGo++
		case accepted[f[1]]:
			delete(accepted, f[1])
		default:
			lines = append(lines, "open: "+f[0])
		}
	}
	for _, id := range slices.Sorted(maps.Keys(accepted)) {
		lines = append(lines, id+" is accepted by etc/advisories.yaml, but is not found: remove the entry, or the base from it")
	}
	lines[0] = fmt.Sprintf("%d reached in dependencies, %d open; %d in the standard library of this Go",
		len(all)-inGo, len(lines)-1, inGo)
	return strings.Join(lines, "\n  "), len(lines) > 1
}
