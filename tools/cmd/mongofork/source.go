package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"mongofork/tools/fork/upstream"
)

// withSource names the commands that work on a commit of upstream's. The others work on released versions.
var withSource = []string{"accept", "build", "check", "diff", "drift", "patch", "series", "status", "verify-series"}

// takeFrom takes upstream's files from the commit checked out in a folder.
func (a *app) takeFrom(dir, command string, stderr io.Writer) error {
	if !slices.Contains(withSource, command) {
		return fmt.Errorf("%s works on released versions: leave --source out (it is for %s)", command, strings.Join(withSource, ", "))
	}
	checkout, err := upstream.OpenCheckout(a.ctx, a.run, dir, a.project.Source)
	if err != nil {
		return err
	}
	if n := checkout.Uncommitted; n > 0 {
		fmt.Fprintf(stderr, "mongofork: warning: uncommitted changes of %d files in %s are ignored; %s is used (git -C %[2]s stash -u, or commit them)\n",
			n, dir, checkout)
	}
	a.checkout, a.project.Source = checkout, checkout
	return nil
}

// label names the base, or the commit in its place, in folder names below build/.
func (a *app) label() string {
	if a.checkout != nil {
		return a.project.Base + ".source"
	}
	return a.project.Base
}
