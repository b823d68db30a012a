package main

import (
	"context"
	"fmt"
	"time"

	"mongofork/bench/overload"
)

type labCmd struct {
	common
	URI      string        `env:"MONGODB_URI" required:"" placeholder:"URI" help:"Connection string of the lab."`
	Duration time.Duration `default:"20s" help:"How long each driver is measured."`
}

// Run measures twice what the lab admits in real time, over real connections, and once more in virtual time.
func (c *labCmd) Run(ctx context.Context, console console) error {
	every := c.arms()
	arms := []arm{every.noRetry, every.twoRetries, every.throttled, every.newerThrottled}
	s := scenario("limit", overload.Load{Base: 2}, c.Duration, func(s *overload.Scenario) { s.Limit = int32(s.Capacity) })
	for _, place := range []struct{ name, uri string }{{"virtual time", ""}, {"the lab, real time", c.URI}} {
		all := measured{}
		for _, a := range arms {
			console.progressf("%s: %s", place.name, a.name)
			result, err := c.run(ctx, a, overload.Job{Scenario: s, Seed: 1, URI: place.uri})
			if err != nil {
				return err
			}
			all[key{s.Name, a.name}] = result
		}
		fmt.Fprintf(console.Out, "%s\n\n%s\n", place.name, armTable(all, s.Name, loadColumns(), arms...))
	}
	return nil
}
