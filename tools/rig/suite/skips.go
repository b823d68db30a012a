package suite

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"mongofork/tools/gotest"
	"mongofork/tools/strict"
)

// skip is why a test of upstream's may fail in the fork: what the specification demands instead, and the test of ours that asserts it.
type skip struct {
	reason    string
	successor gotest.Key
}

// skipFile is the skip list's path below the root.
func (r *Rig) skipFile() string { return "etc/bases/" + r.Base + "/skips" }

// readSkips reads a skip list, whose entries have several tests of one package for the same reason. Without a file it is empty.
func readSkips(file string) (map[gotest.Key]skip, error) {
	var entries []struct {
		Reason, Package string
		// Successor is "folder TestName".
		Successor string
		Tests     []string
	}
	if err := strict.Read(file, &entries); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	skips := map[gotest.Key]skip{}
	for i, e := range entries {
		if e.Reason == "" || e.Successor == "" || e.Package == "" || len(e.Tests) == 0 {
			return nil, fmt.Errorf("%s: entry %d needs reason, successor, package and tests", file, i+1)
		}
		folder, successor, _ := strings.Cut(e.Successor, " ")
		for _, test := range e.Tests {
			key := gotest.Key{Package: path.Join(Module, e.Package), Test: test}
			if skips[key] != (skip{}) {
				return nil, fmt.Errorf("%s: %s %s is listed twice", file, e.Package, test)
			}
			skips[key] = skip{e.Reason, gotest.Key{Package: path.Join(Module, folder), Test: successor}}
		}
	}
	return skips, nil
}
