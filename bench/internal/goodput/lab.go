package goodput

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/tools/connstring"
	"mongofork/tools/redact"
)

// patience bounds the time from a process's interrupt to its end.
const patience = 10 * time.Second

// server is a process of the overload lab.
type server struct {
	URI      string
	dir      string // of what the lab starts
	cmd      *exec.Cmd
	messages bytes.Buffer
}

// startServer starts a lab for a scenario.
func startServer(ctx context.Context, config Config, scenario Scenario) (started *server, err error) {
	s := new(server)
	defer func() {
		if err != nil {
			_ = os.RemoveAll(s.dir) // nothing, without a folder
		}
	}()
	args := []string{
		"serve", "--topology", scenario.topology(), "--port=0", "--metrics-port=0",
		"--capacity", fmt.Sprint(scenario.Capacity()), "--queue", strconv.Itoa(scenario.queue()),
		"--rejection-cost", fmt.Sprint(scenario.RejectionCost),
	}
	if scenario.Real {
		if s.dir, err = os.MkdirTemp("", "bench-members-"); err != nil {
			return nil, err
		}
		args = append(args, "--mongod", config.Mongod, "--dir", s.dir)
	}
	s.cmd = exec.CommandContext(ctx, config.Lab, args...)
	s.cmd.Env = append(os.Environ(), "MONGODB_URI="+config.Backend) // it may have a password, and every user can read arguments
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(os.Interrupt) }
	s.cmd.WaitDelay = patience
	s.cmd.Stderr = &s.messages
	output, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	for lines := bufio.NewScanner(output); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), "=")
		switch name {
		case "MONGODB_URI":
			s.URI = value
		case "LAB_URL":
			return s, nil
		}
	}
	s.close()
	return nil, fmt.Errorf("the lab did not start: %s", redact.URIs(strings.TrimSpace(s.messages.String())))
}

// close ends the process, waits for its end, and returns its processor time.
func (s *server) close() time.Duration {
	_ = s.cmd.Process.Signal(os.Interrupt)
	_ = s.cmd.Wait()
	if s.dir != "" {
		_ = os.RemoveAll(s.dir)
	}
	if s.cmd.ProcessState == nil {
		return 0
	}
	return s.cmd.ProcessState.UserTime() + s.cmd.ProcessState.SystemTime()
}

// fill inserts the documents that the operations read.
func (s *server) fill(ctx context.Context, database string) error {
	client, err := mongo.Connect(options.Client().ApplyURI(connstring.With(s.URI, "w=majority")))
	if err != nil {
		return err
	}
	return errors.Join(insertDocument(ctx, client.Database(database)), client.Disconnect(ctx))
}

// set sets parameters of the first member.
func (s *server) set(ctx context.Context, parameters bson.D) error {
	host, _, _ := strings.Cut(strings.TrimPrefix(s.URI, "mongodb://"), "/")
	host, _, _ = strings.Cut(host, ",")
	client, err := mongo.Connect(options.Client().ApplyURI("mongodb://" + host + "/?directConnection=true"))
	if err != nil {
		return err
	}
	command := append(bson.D{{Key: "setParameter", Value: 1}}, parameters...)
	err = client.Database("admin").RunCommand(ctx, command).Err()
	return errors.Join(err, client.Disconnect(ctx))
}

// limitRequests limits the requests per second that the first member admits.
func (s *server) limitRequests(ctx context.Context, perSecond int) error {
	return s.set(ctx, bson.D{
		{Key: "ingressRequestAdmissionRatePerSec", Value: perSecond}, {Key: "ingressRequestAdmissionBurstCapacitySecs", Value: 0.1},
		{Key: "ingressRequestAdmissionMaxQueueDepth", Value: 0}, {Key: "ingressRequestRateLimiterEnabled", Value: true},
	})
}

// limitConnections limits the new connections per second that the first member accepts, and the number that may wait.
func (s *server) limitConnections(ctx context.Context, perSecond, queue int) error {
	return s.set(ctx, bson.D{
		{Key: "ingressConnectionEstablishmentRatePerSec", Value: perSecond},
		{Key: "ingressConnectionEstablishmentBurstCapacitySecs", Value: 1.0},
		{Key: "ingressConnectionEstablishmentMaxQueueDepth", Value: queue},
		{Key: "ingressConnectionEstablishmentRateLimiterEnabled", Value: true},
	})
}
