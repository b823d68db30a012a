package main

import (
	"fmt"
	"strings"

	"mongofork/tools/fork/git"
)

// authored is the flag of the commands that write commits.
type authored struct {
	Author string `placeholder:"NAME <ADDRESS>" help:"Author of the commits (default: git's user.name and user.email)."`
}

// of returns the author: the given one, the one that git is configured with, or else the builder.
func (c authored) of(a *app) string {
	if c.Author != "" {
		return c.Author
	}
	name, address := a.gitConfig("user.name"), a.gitConfig("user.email")
	if name == "" || address == "" {
		return git.Builder
	}
	return fmt.Sprintf("%s <%s>", name, address)
}

// gitConfig returns a value of git's configuration; empty if there is none.
func (a *app) gitConfig(key string) string {
	value, err := a.run(a.ctx, a.project.Root, nil, "git", "config", "--get", key)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(value))
}
