package openloop

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Drain reports how clients spent their tokens: a wave of commands that all fail as on an overloaded server, and smaller waves
// until one hardly causes retries.
type Drain struct {
	Operations int `json:"operations"` // in each wave but the first
	// Commands is the number of commands in each wave.
	Commands []int `json:"commands"`
}

// The waves of a drain, in commands of each client. The first spends a client's tokens on first retries, which have the
// shortest backoff.
const (
	firstWave  = 1000
	waveSize   = 50
	mostWaves  = 6
	doneFactor = 1.01 // commands for each that was wanted
)

var errNotDrained = errors.New("the clients' tokens are not spent")

// drain spends the tokens of all clients by a command that costs no server any work.
func (r *run) drain(ctx context.Context) (*Drain, error) {
	if err := r.fail(ctx, true); err != nil {
		return nil, err
	}
	d := &Drain{Operations: waveSize * len(r.clients), Commands: []int{r.wave(ctx, firstWave)}}
	for range mostWaves {
		sent := r.wave(ctx, waveSize)
		d.Commands = append(d.Commands, sent)
		if float64(sent) <= doneFactor*float64(d.Operations) {
			return d, r.fail(ctx, false)
		}
	}
	return nil, fmt.Errorf("%w: waves of %d operations sent %v commands", errNotDrained, d.Operations, d.Commands)
}

// drainCommand is a command that costs servers nothing.
var drainCommand = bson.D{{Key: "getParameter", Value: 1}}

// wave makes each client send that many commands at once, and returns the total number sent.
func (r *run) wave(ctx context.Context, size int) int {
	operations := make([]operation, size*len(r.clients))
	var wg sync.WaitGroup
	for i := range operations {
		op := &operations[i]
		database := r.clients[i%len(r.clients)].Database("admin")
		wg.Add(1)
		go func() {
			defer wg.Done()
			_ = database.RunCommand(context.WithValue(ctx, operationKey{}, op), drainCommand).Err()
		}()
	}
	wg.Wait()
	var sent int
	for i := range operations {
		sent += int(operations[i].commands.Load())
	}
	return sent
}

// fail switches the failure of the command on or off.
func (r *run) fail(ctx context.Context, on bool) error {
	const requestRateLimitExceeded = 462
	command := bson.D{{Key: "configureFailPoint", Value: "failCommand"}, {Key: "mode", Value: "off"}}
	if on {
		command = bson.D{
			{Key: "configureFailPoint", Value: "failCommand"}, {Key: "mode", Value: "alwaysOn"},
			{Key: "data", Value: bson.D{
				{Key: "failCommands", Value: bson.A{drainCommand[0].Key}}, {Key: "errorCode", Value: requestRateLimitExceeded},
				{Key: "errorLabels", Value: bson.A{"SystemOverloadedError", "RetryableError"}},
			}},
		}
	}
	return r.clients[0].Database("admin").RunCommand(ctx, command).Err()
}
