package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"strings"

	"mongofork/bench/overload"
	"mongofork/tools/strict"
)

//go:embed plan.yaml
var planText string

// plan is what plan.yaml says.
type plan struct {
	Arms      map[string]arm
	Scenarios []entry
	Tables    []table
	Costs     []struct{ What, Of string }
}

// arm is a driver with options.
type arm struct {
	Name   string
	Driver string
	// Half makes half of the runs do.
	Half bool
	// The others are as in overload.Job.
	Options string
	Spent   bool
}

// entry is a scenario and the arms that meet it, each with servers of its own.
type entry struct {
	overload.Scenario `yaml:",inline"`
	Arms              []string
}

// newPlan returns the plan for the oldest and the newest base.
func newPlan(older, newer string) (p plan, err error) {
	text := strings.NewReplacer("OLDER", older, "NEWER", newer).Replace(planText)
	if err := strict.Decode([]byte(text), &p); err != nil {
		return p, fmt.Errorf("plan.yaml: %w", err)
	}
	for i := range p.Scenarios {
		e := &p.Scenarios[i]
		e.Clients, e.Capacity, e.Seeds = cmp.Or(e.Clients, 10), cmp.Or(e.Capacity, 200), cmp.Or(e.Seeds, 2)
	}
	return p, nil
}
