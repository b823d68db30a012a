package specs

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"mongofork/tools/fork/filetree"
)

// places maps the beginnings of the distribution's folder names to folders of the specification's tests; the first match counts. Folders
// that map to "" are not tests of the specifications. All other folders have the specification's name.
var places = []struct{ theirs, ours string }{
	{"client-side-encryption/spec/", "client-side-encryption/"},
	{"client-side-encryption/", ""}, {"data-lake/", ""}, {"lambda/", ""},
	{"command_logging/", "command-logging-and-monitoring/logging/"},
	{"command_monitoring/", "command-logging-and-monitoring/monitoring/"},
	{"connection_logging/", "connection-monitoring-and-pooling/logging/"},
	{"connection_monitoring/", "connection-monitoring-and-pooling/cmap-format/"},
	{"connection_string/test/", "connection-string/"},
	{"csot/", "client-side-operations-timeout/"},
	{"discovery_and_monitoring/", "server-discovery-and-monitoring/"},
	{"handshake/", "mongodb-handshake/"},
	{"load_balancer/", "load-balancers/"},
	{"sdam_monitoring/", "server-discovery-and-monitoring/monitoring/"},
	{"server_selection_logging/", "server-selection/logging/"},
	{"srv_seedlist/", "initial-dns-seedlist-discovery/"},
}

// place returns where the specifications have a file of the distribution's folder of tests, or "".
func place(name string) string {
	for _, p := range places {
		if rest, is := strings.CutPrefix(name, p.theirs); is {
			if p.ours == "" {
				return ""
			}
			name = p.ours + rest
			break
		}
	}
	specification, rest, is := strings.Cut(name, "/")
	if !is || path.Ext(name) != ".json" {
		return ""
	}
	return "source/" + strings.ReplaceAll(specification, "_", "-") + "/tests/" + rest
}

// unpack returns the test files in an archive of the distribution, without some, by their names in the specifications.
func unpack(archive []byte, without map[string]string) (filetree.Tree, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, err
	}
	files := filetree.Tree{}
	for r := tar.NewReader(unzipped); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		_, name, _ := strings.Cut(header.Name, "/")
		name, is := strings.CutPrefix(name, "test/")
		name = place(name)
		if _, left := without[name]; left || !is || name == "" || header.Typeflag != tar.TypeReg {
			continue
		}
		if files[name], err = io.ReadAll(r); err != nil {
			return nil, err
		}
	}
}

// lacks says what a copy of so many files lacks, by specification.
func (r Revision) lacks(files filetree.Tree) string {
	all, counts := 0, map[string]int{}
	for name, digest := range r.Differs {
		if digest != "" {
			all++
			counts[strings.Split(name, "/")[1]]++
		}
	}
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		missing = append(missing, fmt.Sprintf("%s %d", name, counts[name]))
	}
	version, _, _ := strings.Cut(r.Requirement, " ")
	return fmt.Sprintf("%d of %d files of the specifications' tests, from %s; not in it: %s",
		len(files), len(files)+all, version, strings.Join(missing, ", "))
}
