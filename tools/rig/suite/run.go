package suite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"mongofork/tools/gotest"
	"mongofork/tools/rig/server"
)

// prepare gets the specifications' tests. Most tests that need no server do without them; those that do not then fail in both trees.
func (s *suite) prepare(ctx context.Context) (err error) {
	if s.revision == "" {
		return nil
	}
	s.project, err = s.Project(ctx, s.revision)
	if s.server == nil && !s.CI && isUnavailable(err) {
		s.note("without the specification tests")
		s.project, err = filepath.Join(os.TempDir(), "no-specifications"), nil
	}
	return err
}

// run runs tests in a tree, those of each command on a new server if they need one. What needs a newer one than the pinned mongod runs on
// the pinned SecantusDB.
func (s *suite) run(ctx context.Context, label, tree string, commands ...gotest.Command) (gotest.Result, error) {
	if s.server == nil {
		return s.test(ctx, label, tree, commands[0], "PROJECT_DIRECTORY="+s.project)
	}
	result, on, err := s.runOn(ctx, *s.server, label, tree, commands...)
	if err != nil || on.Name != server.Pinned || s.server.Topology != "" {
		return result, err
	}
	wanting := slices.DeleteFunc(result.Cases(), func(c gotest.Case) bool {
		_, why := c.Said()
		return c.Outcome != gotest.Skipped || !strings.Contains(why, "is lower than min")
	})
	if len(wanting) == 0 {
		return result, nil
	}
	newer, _, err := s.runOn(ctx, server.Config{Name: server.SecantusDB}, label, tree, commands[0].Only(wanting))
	result.Add(newer)
	return result, err
}

// runOn runs the commands side by side, unless they would share a server, and notes what ran where, once for each kind of server.
func (s *suite) runOn(ctx context.Context, cfg server.Config, label, tree string, commands ...gotest.Command) (
	all gotest.Result, on *server.Server, err error) {
	all = gotest.Result{}
	var mu sync.Mutex
	group, running := errgroup.WithContext(ctx)
	if os.Getenv("MONGODB_URI") != "" {
		group.SetLimit(1)
	}
	for _, command := range commands {
		group.Go(func() error {
			result, by, err := s.onNew(running, cfg, label, tree, command)
			mu.Lock()
			defer mu.Unlock()
			all.Add(result)
			on = by
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	if where := "on " + on.String(); !strings.Contains(s.Note, where) {
		s.note("%d %s", all.Count(gotest.Passed), where)
	}
	return all, on, nil
}

// onNew runs tests on a new server.
func (s *suite) onNew(ctx context.Context, cfg server.Config, label, tree string, command gotest.Command) (
	result gotest.Result, on *server.Server, err error) {
	cfg.Root, cfg.Progress = s.Root, s.Log.Writer()
	if on, err = s.Open(ctx, cfg); err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, on.Close()) }()
	// The packages share the server and its fail points, so they run one after the other.
	command.Flags = append(slices.Clip(command.Flags), "-p=1", gotest.Fresh)
	result, err = s.test(ctx, label+" on "+on.String(), tree, command,
		append([]string{"PROJECT_DIRECTORY=" + s.project}, on.Env...)...)
	return result, on, err
}
