// Package specs provides the official driver specification tests at pinned revisions, from a git repository or, where that is out of
// reach, most of them from a package index.
package specs

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"

	"mongofork/tools/command"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/rig/pypi"
	"mongofork/tools/strict"
)

// Revision is one pinned state of the specifications repository: its commit, and the "h1:" hash of its test files.
type Revision struct {
	Commit, Hash string
	// Requirement names a source distribution of PyMongo that has most of the test files, and its hash, as a line of a file for pip.
	Requirement string
	// Differs are the hexadecimal SHA-256 of the test files that the distribution does not have as they are in the revision, by name,
	// and nothing of those that only the distribution has. Together with what the distribution has they give the revision's hash, so
	// each file of the distribution is verified.
	Differs map[string]string
}

// Base names the revisions whose tests run with one version of upstream: that of upstream's own tests, and the one that the fork follows.
type Base struct{ Upstream, Fork string }

// Store provides specification tests.
type Store struct {
	// Root is the root of the repository; copies are kept in build/specifications below it.
	Root string
	Pins map[string]Revision // the known revisions by name
	// Repository is the address of the specifications' git repository, or the folder of a clone.
	Repository string
	Download   func(ctx context.Context, requirement string) ([]byte, error) // gets a source distribution
	Progress   io.Writer                                                     // receives a line for every step that takes a while
}

// Project is a folder with the tests of a revision.
type Project struct {
	Dir   string // what upstream's tests take as PROJECT_DIRECTORY
	Lacks string // says which tests of the revision it does not have, if any
}

// data is where upstream's tests look for the specifications' below the project's folder.
var data = filepath.Join("testdata", "specifications")

// Open returns the store of a repository, and the revisions of a base.
func Open(root, base string, progress io.Writer) (s *Store, b Base, err error) {
	s = &Store{
		Root: root, Repository: cmp.Or(os.Getenv("SPECIFICATIONS"), "https://github.com/mongodb/specifications"),
		Download: pypi.Download, Progress: progress,
	}
	file := filepath.Join(root, "etc", "bases", base, "specifications")
	if err := errors.Join(strict.Read(filepath.Join(root, "etc", "specifications"), &s.Pins), strict.Read(file, &b)); err != nil {
		return nil, b, fmt.Errorf("read the revisions of the specifications: %w", err)
	}
	if s.Pins[b.Upstream].Commit == "" || s.Pins[b.Fork].Commit == "" {
		return nil, b, fmt.Errorf("%s: want upstream and fork, with names that etc/specifications pins", file)
	}
	return s, b, nil
}

// Project returns the tests of the named revision, after verifying each file against the pinned hash. A copy that lacks some is used from
// then on, too, until it is removed. If they cannot be had here, the error is a pypi.ErrUnavailable, and the folder is not there.
func (s *Store) Project(ctx context.Context, name string) (p Project, err error) {
	revision, known := s.Pins[name]
	if !known { // nor may it name another folder, which would be removed
		return p, fmt.Errorf("etc/specifications has no revision %q", name)
	}
	p.Dir = filepath.Join(s.Root, "build", "specifications", name)
	if err := os.MkdirAll(filepath.Dir(p.Dir), 0o755); err != nil {
		return p, err
	}
	unlock, err := lockedfile.MutexAt(p.Dir + ".lock").Lock() // suites that run side by side may want the same revision
	if err != nil {
		return p, err
	}
	defer unlock()
	files, err := read(filepath.Join(p.Dir, data))
	if err == nil {
		if p.Lacks, err = revision.verify(files); err == nil {
			return p, nil
		}
	}
	if err := os.RemoveAll(p.Dir); err != nil {
		return p, err
	}
	fmt.Fprintf(s.Progress, "getting the specification tests %s from %s\n", name, s.Repository)
	files, err = s.clone(ctx, revision.Commit)
	if errors.Is(err, pypi.ErrUnavailable) && revision.Requirement != "" {
		fmt.Fprintf(s.Progress, "%v\ntaking them from %s\n", err, revision.Requirement)
		archive, getErr := s.Download(ctx, revision.Requirement)
		if errors.Is(getErr, pypi.ErrUnavailable) {
			return p, fmt.Errorf("%w; and those in %s could not be got: %v", err, revision.Requirement, getErr)
		}
		if err = getErr; err == nil {
			files, err = unpack(archive, revision.Differs)
		}
	}
	if err == nil {
		p.Lacks, err = revision.verify(files)
	}
	if err != nil {
		return p, err
	}
	fmt.Fprintln(s.Progress, cmp.Or(p.Lacks, "all of them"))
	return p, files.Write(filepath.Join(p.Dir, data))
}

// clone returns the test files of a commit of the repository.
func (s *Store) clone(ctx context.Context, commit string) (filetree.Tree, error) {
	clone, err := os.MkdirTemp("", "specifications-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(clone)
	const patience = 2 * time.Minute // where it is out of reach, a firewall may say nothing
	limited, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it took more than %v", patience))
	defer cancel()
	env := []string{"GIT_DIR=" + filepath.Join(clone, ".git"), "GIT_WORK_TREE=" + clone}
	for _, args := range [][]string{
		{"init", "--quiet"}, {"fetch", "--quiet", "--depth=1", s.Repository, commit}, {"checkout", "--quiet", "FETCH_HEAD"},
	} {
		if _, err := command.Output(limited, "", env, "git", args...); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, pypi.Absent("no specification tests are available: %s: %s; set SPECIFICATIONS to a clone of "+
				"mongodb/specifications that has %s",
				s.Repository, strings.TrimSpace(cmp.Or(context.Cause(limited), err).Error()), commit)
		}
	}
	return read(clone)
}

// read returns the test files of a checkout: source/<specification>/.../tests/.../name.json.
func read(checkout string) (filetree.Tree, error) {
	files := filetree.Tree{}
	err := fs.WalkDir(os.DirFS(checkout), "source", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && strings.Contains(name, "/tests/") && path.Ext(name) == ".json" {
			files[name], err = os.ReadFile(filepath.Join(checkout, filepath.FromSlash(name)))
		}
		return err
	})
	return files, err
}

// verify reports an error unless files are exactly those of the revision, or of its distribution. Then it says what they lack, by
// specification. The revision's hash covers the names and hashes of all files, as in go.sum.
func (r Revision) verify(files filetree.Tree) (lacks string, err error) {
	digests, missing, sum := map[string]string{}, map[string]int{}, sha256.New()
	for name, text := range files {
		digests[name] = filetree.Digest(text)
	}
	for name, digest := range r.Differs {
		if digests[name] == "" && digest != "" {
			digests[name] = digest
			missing[strings.Split(name, "/")[1]]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(digests)) {
		fmt.Fprintf(sum, "%s  %s\n", digests[name], name)
	}
	if "h1:"+base64.StdEncoding.EncodeToString(sum.Sum(nil)) != r.Hash {
		return "", errors.New("the specification tests are not the pinned ones, or etc/specifications is not right")
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		lacks += fmt.Sprintf(", %s %d", name, missing[name])
	}
	if lacks != "" {
		version, _, _ := strings.Cut(r.Requirement, " ")
		lacks = fmt.Sprintf("%d of %d files of the specifications' tests, from %s; not in it: %s",
			len(files), len(digests), version, lacks[2:])
	}
	return lacks, nil
}

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
