package git

import (
	"context"
	"fmt"
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
func StateOf(ctx context.Context, run command.RunFunc, root, tag string, folders []string) (State, error) {
	var s State
	git := func(args ...string) (string, error) {
		out, err := run(ctx, root, []string{"LC_ALL=C", "GIT_OPTIONAL_LOCKS=0"}, "git", args...)
		return strings.TrimSpace(string(out)), err
	}
	top, err := git("rev-parse", "--show-prefix")
	if err != nil || top != "" {
		return s, nil // no repository, or this folder is just somewhere in one
	}
	commit, err := git(append([]string{"log", "-1", "--format=%H", "--"}, folders...)...)
	if err != nil || commit == "" {
		return s, nil // no commit has them yet
	}
	head, err := git("show", "--no-patch", "--format=%ct", "HEAD")
	if err != nil {
		return s, err
	}
	var seconds int64
	if _, err := fmt.Sscan(head, &seconds); err != nil {
		return s, err
	}
	edits, err := git(append([]string{"status", "--porcelain", "--"}, folders...)...)
	if err != nil {
		return s, err
	}
	all, err := git("status", "--porcelain", "--untracked-files=no")
	if err != nil {
		return s, err
	}
	tags, err := git("tag", "--points-at", "HEAD")
	s = State{Commit: commit[:12], Time: time.Unix(seconds, 0).UTC(), Edited: edits != ""}
	for _, t := range strings.Fields(tags) {
		s.Tagged = s.Tagged || t == tag && edits == "" && all == ""
	}
	return s, err
}
