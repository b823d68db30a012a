package main

import (
	"fmt"

	"mongofork/tools/fork/syntax"
)

type diffCmd struct {
	Keys []string `arg:"" name:"key" help:"Declarations that the overlay touches or watches, such as 'x/mongo/driver Operation.Execute'."`
}

func (c *diffCmd) Run(a *app) error {
	plan, err := a.project.Match(a.ctx)
	if err != nil {
		return err
	}
	for _, s := range c.Keys {
		key, err := syntax.ParseKey(s)
		if err != nil {
			return err
		}
		text, err := plan.CompareDecl(key)
		if err != nil {
			return err
		}
		fmt.Fprint(a.out, text)
	}
	return nil
}
