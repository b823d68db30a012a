package main

import (
	"fmt"

	"mongofork/tools/fork"
	"mongofork/tools/fork/syntax"
)

type acceptCmd struct {
	Keys []string `arg:"" optional:"" name:"key" help:"Declarations to accept, such as 'x/mongo/driver Operation.Execute'."`
	All  bool     `help:"Accept every touched and watched declaration."`
	New  bool     `help:"Make a base of this version. What is unchanged since the highest base below it is accepted."`
}

func (acceptCmd) Help() string {
	return "Read what upstream has (mongofork diff KEY) before accepting it. Without arguments only the output's hash is " +
		"recorded. The page of the advisories is written anew. With --new, --base names the new base."
}

func (c *acceptCmd) Run(a *app) error {
	opt := fork.AcceptOptions{All: c.All}
	for _, s := range c.Keys {
		key, err := syntax.ParseKey(s)
		if err != nil {
			return err
		}
		opt.Keys = append(opt.Keys, key)
	}
	if c.New {
		if _, err := a.project.NewLock(a.ctx, modulePath); err != nil {
			return err
		}
		fmt.Fprintf(a.out, "%s: created\n", a.project.LockFile())
		if !c.All && len(c.Keys) == 0 {
			return nil
		}
	}
	lock, err := a.project.Accept(a.ctx, opt)
	if err != nil {
		return err
	}
	if err := a.project.WriteSecurityPage(); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "%s: %d entries", a.project.LockFile(), len(lock.Entries))
	if open := len(lock.Open); open > 0 {
		fmt.Fprintf(a.out, "; %d more to accept (mongofork check lists them)\n", open)
		return nil
	}
	fmt.Fprintf(a.out, ", output %s\n", lock.Output)
	return nil
}
