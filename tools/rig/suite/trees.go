package suite

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
)

// binaries is the folder for programs that the suites run, below the root of the repository.
const binaries = "build/bin"

// trees are the two modules that upstream's tests run in, as paths below the root of the repository.
type trees struct {
	fork, upstream string
	own            ownTests
}

// errNotBuilt replaces an error that has already been reported.
var errNotBuilt = errors.New("the fork could not be built; see the first failure")

// build builds both trees, once for all suites.
func (r *Rig) build(ctx context.Context) (*trees, error) {
	r.building.Lock()
	defer r.building.Unlock()
	if r.trees != nil || r.buildErr != nil {
		return r.trees, r.buildErr
	}
	var err error
	r.trees, err = r.buildTrees(ctx)
	r.buildErr = err
	if err != nil && !errors.Is(err, ErrUnavailable) {
		r.buildErr = errNotBuilt
	}
	return r.trees, err
}

func (r *Rig) buildTrees(ctx context.Context) (*trees, error) {
	// Given a folder, the go command adds the system's suffix for executables; running the program needs none.
	if _, err := r.Tools.Run(ctx, r.Root, r.env(), "go", "build", "-o", binaries+"/", "./tools/cmd/mongofork"); err != nil {
		return nil, fmt.Errorf("compile the builder: %w", err)
	}
	t := &trees{fork: path.Join("build", r.Base), upstream: path.Join("build", "pristine", r.Base)}
	for _, args := range [][]string{{"build", "--link"}, {"build", "--pristine", "-o", t.upstream}} {
		args = append([]string{"--base", r.Base}, args...)
		if _, err := r.Tools.Run(ctx, r.Root, r.env(), r.builder(), args...); err != nil {
			return nil, fmt.Errorf("build the fork: %w", err)
		}
	}
	if output, err := r.Tools.Run(ctx, r.file(t.upstream), r.env(), "go", "mod", "download"); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%w: the driver's dependencies cannot be downloaded; check the network and GOPROXY (%s)",
			ErrUnavailable, lastLine(output))
	}
	own, err := findOwnTests(r.Root, r.file(t.fork))
	if err != nil {
		return nil, err
	}
	t.own = own
	return t, nil
}

// builder returns the path of the compiled builder.
func (r *Rig) builder() string { return r.file(binaries, "mongofork") }

func lastLine(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return lines[len(lines)-1]
}

// BuildTrees builds the fork and the untouched module, and returns their folders below the root.
func (r *Rig) BuildTrees(ctx context.Context) (fork, upstream string, err error) {
	t, err := r.build(ctx)
	if err != nil {
		return "", "", err
	}
	return t.fork, t.upstream, nil
}
