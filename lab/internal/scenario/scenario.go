// Package scenario reads and runs the scenarios of a lab.
package scenario

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/goccy/go-yaml"

	"mongofork/lab/internal/fault"
	"mongofork/lab/internal/members"
	"mongofork/lab/internal/topology"
)

// Scenario describes a lab and its events.
type Scenario struct {
	// Topology is the topology that clients see, such as "replicaset:3".
	Topology string `yaml:"topology"`
	// Duration is the time from start to end.
	Duration time.Duration `yaml:"duration"`
	// Steps are the events, sorted by their time.
	Steps []Step `yaml:"steps"`
}

// Step is one event.
type Step struct {
	// At is its time from the scenario's start.
	At time.Duration `yaml:"at"`
	// Front is the number of its front, from 0. Nil stands for all fronts; a step-down happens to the primary.
	Front *int `yaml:"front"`

	// Exactly one of these says what happens.
	SetParameter map[string]any `yaml:"setParameter"`
	FailPoint    *FailPoint     `yaml:"failPoint"`
	StepDown     *StepDown      `yaml:"stepDown"`
	Fault        *Fault         `yaml:"fault"`
	// The last two need real members that the lab started: an action on the process behind a front, and a partition.
	Process   members.Action `yaml:"process"`
	Partition *Partition     `yaml:"partition"`
}

// Partition cuts off members from the others; without members it ends a partition. For is its duration, 0 for the rest of the
// scenario.
type Partition struct {
	Members []int         `yaml:"members"`
	For     time.Duration `yaml:"for"`
}

// FailPoint is a fail point in the form of configureFailPoint.
type FailPoint struct {
	Name string         `yaml:"name"`
	Mode any            `yaml:"mode"`
	Data map[string]any `yaml:"data"`
}

// StepDown makes the primary step down; it is not elected for that long.
type StepDown struct {
	For time.Duration `yaml:"for"`
}

// Fault is a front's fault, and its duration; 0 for the rest of the scenario.
type Fault struct {
	Kind  fault.Kind    `yaml:"kind"`
	Delay time.Duration `yaml:"delay"`
	For   time.Duration `yaml:"for"`
}

// Parse reads a scenario, and checks it as a whole.
func Parse(text []byte) (*Scenario, error) {
	s := &Scenario{}
	decoder := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict())
	if err := decoder.Decode(s); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the scenario is empty")
		}
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(s.Steps, func(a, b Step) int { return cmp.Compare(a.At, b.At) })
	return s, nil
}

func (s *Scenario) check() error {
	spec, err := topology.ParseSpec(s.Topology)
	if err != nil {
		return err
	}
	if s.Duration <= 0 {
		return fmt.Errorf("the duration is %v: give more than 0, such as 1m", s.Duration)
	}
	for i := range s.Steps {
		if err := s.checkStep(&s.Steps[i], spec); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return nil
}

func (s *Scenario) checkStep(step *Step, spec topology.Spec) error {
	if step.At < 0 || step.At > s.Duration {
		return fmt.Errorf("at %v is not between 0 and the duration, %v", step.At, s.Duration)
	}
	// The number of real members may not be known yet.
	if step.Front != nil && (*step.Front < 0 || spec.Fronts() > 0 && *step.Front >= spec.Fronts()) {
		return fmt.Errorf("front %d: they are numbered from 0 to %d", *step.Front, spec.Fronts()-1)
	}
	actions := 0
	for _, given := range []bool{
		step.SetParameter != nil, step.FailPoint != nil, step.StepDown != nil, step.Fault != nil, step.Process != "",
		step.Partition != nil,
	} {
		if given {
			actions++
		}
	}
	switch {
	case actions != 1:
		return fmt.Errorf("%d actions: give one of setParameter, failPoint, stepDown, fault, process, partition", actions)
	case (step.Process != "" || step.Partition != nil) && spec.Kind != topology.Members:
		return fmt.Errorf("a process or a partition in a topology %v: only real members have them", spec)
	case step.Process != "" && step.Front == nil:
		return errors.New("process needs a front: which member's process it is")
	case step.Process != "":
		return step.Process.Check()
	case step.Partition != nil:
		return checkPartition(step, spec)
	case step.StepDown != nil:
		return checkStepDown(step, spec)
	case step.Fault != nil:
		if step.Fault.For < 0 {
			return fmt.Errorf("a fault for %v: give 0 or more", step.Fault.For)
		}
		return step.Fault.fault().Check()
	case step.FailPoint != nil && (step.FailPoint.Name == "" || step.FailPoint.Mode == nil):
		return errors.New("a fail point needs name and mode")
	}
	return nil
}

func checkPartition(step *Step, spec topology.Spec) error {
	if step.Front != nil {
		return errors.New("partition takes no front: it names its members")
	}
	if step.Partition.For < 0 {
		return fmt.Errorf("a partition for %v: give 0 or more", step.Partition.For)
	}
	for _, m := range step.Partition.Members {
		if m < 0 || spec.Fronts() > 0 && m >= spec.Fronts() {
			return fmt.Errorf("member %d: they are numbered from 0 to %d", m, spec.Fronts()-1)
		}
	}
	return nil
}

func checkStepDown(step *Step, spec topology.Spec) error {
	if spec.Kind != topology.ReplicaSet && spec.Kind != topology.Members {
		return fmt.Errorf("stepDown in a topology %v: only a replica set has a primary", spec)
	}
	if step.Front != nil {
		return errors.New("stepDown takes no front: it is the primary that steps down")
	}
	if step.StepDown.For <= 0 {
		return fmt.Errorf("stepDown for %v: give more than 0, such as 10s", step.StepDown.For)
	}
	return nil
}

func (f *Fault) fault() fault.Fault { return fault.Fault{Kind: f.Kind, Delay: f.Delay} }
