package git

import (
	"context"
	"errors"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
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
	// Tags are on the commit that is checked out. There are none if a file of that is edited.
	Tags []string
}

// StateOf returns the state of folders in the working copy at root. Nothing is known of what is no repository; where git refuses to tell,
// that is an error.
func StateOf(ctx context.Context, root string, folders []string) (s State, err error) {
	git := func(args ...string) (said string) {
		if err == nil {
			var out []byte
			out, err = command.Output(ctx, root, []string{"LC_ALL=C", "GIT_OPTIONAL_LOCKS=0"}, "git", args...)
			said = strings.TrimSpace(string(out))
		}
		return said
	}
	of := func(args ...string) []string { return slices.Concat(args, []string{"--"}, folders) }
	prefix, commit := git("rev-parse", "--show-prefix"), git(of("log", "-1", "--format=%H")...)
	switch {
	case errors.Is(err, exec.ErrNotFound) || err != nil && nothing.MatchString(err.Error()):
		return s, nil
	case err != nil || prefix != "" || commit == "":
		return s, err // this folder is just somewhere in a repository, or no commit has these yet
	}
	seconds, _ := strconv.ParseInt(git("show", "--no-patch", "--format=%ct", "HEAD"), 10, 64)
	s = State{Commit: commit[:12], Time: time.Unix(seconds, 0).UTC(), Edited: git(of("status", "--porcelain")...) != ""}
	if tags := git("tag", "--points-at", "HEAD"); !s.Edited && git("status", "--porcelain", "--untracked-files=no") == "" {
		s.Tags = strings.Fields(tags)
	}
	return s, err
}

// nothing is what git says of a folder that is in no repository, and of a repository without commits.
var nothing = regexp.MustCompile(`not a git repository|does not have any commits yet`)
