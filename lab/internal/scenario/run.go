package scenario

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/internal/clock"
	"mongofork/lab/internal/deployment"
)

// commandTimeout bounds a step's command to a front, which an earlier step may have made silent.
const commandTimeout = 10 * time.Second

// Run carries out the steps on a running lab, one after the other, until the duration is over. It ends with the first step that
// fails or, without an error, with the context.
func (s *Scenario) Run(ctx context.Context, l *deployment.Lab, clock clock.Clock, log *slog.Logger) error {
	if err := s.checkFronts(len(l.Hosts())); err != nil {
		return err
	}
	start := clock.Now()
	for i, step := range s.Steps {
		if clock.Wait(ctx, start.Add(step.At).Sub(clock.Now())) != nil {
			return nil
		}
		log.Info("step", "number", i+1, "at", step.At, "what", step.String())
		if err := step.run(ctx, l); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("step %d: %s: %w", i+1, step.String(), err)
		}
	}
	_ = clock.Wait(ctx, start.Add(s.Duration).Sub(clock.Now())) // the context's end is an end as good as any
	return nil
}

// checkFronts returns an error if a step names a front that does not exist.
func (s *Scenario) checkFronts(fronts int) error {
	for i, step := range s.Steps {
		if step.Front != nil && *step.Front >= fronts {
			return fmt.Errorf("step %d: front %d: they are numbered from 0 to %d", i+1, *step.Front, fronts-1)
		}
	}
	return nil
}

// String describes the step and its place.
func (s *Step) String() string {
	where := "all fronts"
	if s.Front != nil {
		where = fmt.Sprintf("front %d", *s.Front)
	}
	switch {
	case s.Process != "":
		return fmt.Sprintf("%s the process of the member at %s", s.Process, where)
	case s.Partition != nil:
		return fmt.Sprintf("a partition of the members %v from the others for %v", s.Partition.Members, s.Partition.For)
	case s.StepDown != nil:
		return fmt.Sprintf("the primary steps down for %v", s.StepDown.For)
	case s.Fault != nil:
		return fmt.Sprintf("fault %s at %s for %v", s.Fault.Kind, where, s.Fault.For)
	case s.FailPoint != nil:
		return fmt.Sprintf("fail point %s %v at %s", s.FailPoint.Name, s.FailPoint.Mode, where)
	default:
		return fmt.Sprintf("setParameter %v at %s", s.SetParameter, where)
	}
}

func (s *Step) run(ctx context.Context, l *deployment.Lab) error {
	switch {
	case s.StepDown != nil:
		return l.Cluster().StepDown(s.StepDown.For)
	case s.Process != "":
		return l.Members().Process(ctx, *s.Front, s.Process)
	case s.Partition != nil:
		return l.Members().Partition(s.Partition.Members, s.Partition.For)
	}
	for front, host := range l.Hosts() {
		if s.Front != nil && *s.Front != front {
			continue
		}
		var err error
		if s.Fault != nil {
			err = l.SetFault(front, s.Fault.fault(), s.Fault.For)
		} else {
			err = send(ctx, host, l.TLS(), s.command())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// command returns the step as a command for a server.
func (s *Step) command() bson.D {
	if s.FailPoint != nil {
		command := bson.D{{Key: "configureFailPoint", Value: s.FailPoint.Name}, {Key: "mode", Value: s.FailPoint.Mode}}
		if s.FailPoint.Data != nil {
			command = append(command, bson.E{Key: "data", Value: s.FailPoint.Data})
		}
		return command
	}
	command := bson.D{{Key: "setParameter", Value: 1}}
	for _, name := range slices.Sorted(maps.Keys(s.SetParameter)) {
		command = append(command, bson.E{Key: name, Value: s.SetParameter[name]})
	}
	return command
}

// send runs a command at one front, whatever its role.
func send(ctx context.Context, host string, encrypted bool, command bson.D) error {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	opts := options.Client().SetHosts([]string{host}).SetDirect(true).SetAppName("lab scenario")
	if encrypted {
		// Clients verify the certificate; this is the process that has it.
		opts.SetTLSConfig(&tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12})
	}
	client, err := mongo.Connect(opts)
	if err != nil {
		return err
	}
	err = client.Database("admin").RunCommand(ctx, command).Err()
	_ = client.Disconnect(ctx) // the context ends the rest
	return err
}
