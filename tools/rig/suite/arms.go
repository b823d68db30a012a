package suite

import (
	"context"
	"errors"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"mongofork/tools/gotest"
	"mongofork/tools/rig/report"
)

// arms runs the tests in both trees.
func (r *Rig) arms(ctx context.Context, s *report.Suite, t *trees, c comparison) (upstream, fork *gotest.Result, err error) {
	if !c.parallel || r.serverIsGiven() {
		// Runs that share a server would see each other's fail points.
		if upstream, err = r.arm(ctx, s.Name+" untouched", t.upstream, c); err != nil {
			return nil, nil, err
		}
		fork, err = r.arm(ctx, s.Name+" fork", t.fork, c)
		return upstream, fork, err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, side := range []struct {
		label, tree string
		result      **gotest.Result
	}{{" untouched", t.upstream, &upstream}, {" fork", t.fork, &fork}} {
		env, done, openErr := c.open(ctx)
		if openErr != nil {
			return nil, nil, errors.Join(openErr, group.Wait(), err)
		}
		defer func() { err = errors.Join(err, done()) }()
		group.Go(func() (err error) {
			*side.result, err = r.runArm(ctx, s.Name+side.label, side.tree, c, env)
			return err
		})
	}
	err = group.Wait()
	return upstream, fork, err
}

// serverIsGiven reports whether all runs use the user's server.
func (r *Rig) serverIsGiven() bool {
	return slices.ContainsFunc(r.Environ, func(assignment string) bool {
		value, isURI := strings.CutPrefix(assignment, "MONGODB_URI=")
		return isURI && value != ""
	})
}

// arm runs the tests in one of the trees.
func (r *Rig) arm(ctx context.Context, label, tree string, c comparison) (result *gotest.Result, err error) {
	env, done, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	return r.runArm(ctx, label, tree, c, env)
}

// runArm is arm with an existing environment.
func (r *Rig) runArm(ctx context.Context, label, tree string, c comparison, env []string) (*gotest.Result, error) {
	command := c.command
	command.Dir = r.file(tree)
	command.Env = r.env(env...)
	result, err := r.Tests.Test(ctx, command, r.Progress.Counter(label))
	if err != nil {
		return nil, err
	}
	n := result.Count()
	r.Progress.Printf("      %s: %d passed, %d failed, %d skipped", label, n.Passed, n.Failed, n.Skipped)
	return result, nil
}
