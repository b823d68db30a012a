package git

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"mongofork/tools/command"
)

// State is what a working copy's repository says of some of its folders.
type State struct {
	// Commit is the last commit that changed them, abbreviated; empty if there is no repository.
	Commit string
	// Time is that of the commit that is checked out.
	Time time.Time
	// Edited is whether they have changes since.
	Edited bool
	// Tagged is whether the tag that was asked for is on the commit that is checked out, and no file of that is edited.
	Tagged bool
}

// StateOf returns the state of folders in the working copy at root. Where git finds no repository, nothing is known.
func StateOf(ctx context.Context, root, tag string, folders []string) (s State, err error) {
	git := func(args ...string) string {
		out, failed := command.Output(ctx, root, []string{"LC_ALL=C", "GIT_OPTIONAL_LOCKS=0"}, "git", args...)
		if err == nil {
			err = failed
		}
		return strings.TrimSpace(string(out))
	}
	of := func(args ...string) []string { return slices.Concat(args, []string{"--"}, folders) }
	prefix, commit := git("rev-parse", "--show-prefix"), git(of("log", "-1", "--format=%H")...)
	if err != nil || prefix != "" || commit == "" {
		return s, nil // no repository, or this folder is just somewhere in one, or no commit has them yet
	}
	var seconds int64
	_, err = fmt.Sscan(git("show", "--no-patch", "--format=%ct", "HEAD"), &seconds)
	s = State{Commit: commit[:12], Time: time.Unix(seconds, 0).UTC(), Edited: git(of("status", "--porcelain")...) != ""}
	s.Tagged = slices.Contains(strings.Fields(git("tag", "--points-at", "HEAD")), tag) && !s.Edited &&
		git("status", "--porcelain", "--untracked-files=no") == ""
	return s, err
}
