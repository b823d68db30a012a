package suite

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"mongofork/tools/gotest"
	"mongofork/tools/rig/report"
)

// retryPackages use atomics and goroutines, so they need the race detector.
const retryPackages = "mongofork/internal/retry"

// unit runs the tests of the repository's own module.
func (r *Rig) unit(ctx context.Context, s *report.Suite) error {
	listed, err := r.Tools.Run(ctx, r.Root, r.env(), "go", "list", "./...")
	if err != nil {
		return fmt.Errorf("list the packages: %w", err)
	}
	var plain, raced []string
	for _, pkg := range strings.Fields(listed) {
		if pkg == retryPackages || strings.HasPrefix(pkg, retryPackages+"/") {
			raced = append(raced, pkg)
			continue
		}
		plain = append(plain, pkg)
	}
	race, note := r.race(ctx)
	s.Note = note
	commands := []gotest.Command{
		{Dir: r.Root, Env: r.env(), Packages: plain},
		{Dir: r.Root, Env: r.env(), Packages: raced, Flags: race},
	}
	for _, command := range commands {
		if len(command.Packages) == 0 {
			continue
		}
		result, err := r.Tests.Test(ctx, command, r.Progress.Counter("unit"))
		if err != nil {
			return err
		}
		record(s, result, func(key gotest.Key) string { return rerunCommand("", command, key, key.Package) })
	}
	return nil
}

// race returns the flag that enables the race detector, or a note that there is no C compiler, which it needs.
func (r *Rig) race(ctx context.Context) (flags []string, note string) {
	output, err := r.Tools.Run(ctx, r.Root, r.env(), "go", "env", "CGO_ENABLED", "CC")
	fields := strings.Fields(output)
	if err == nil && len(fields) >= 2 && fields[0] == "1" {
		if _, err := exec.LookPath(fields[1]); err == nil {
			return []string{"-race"}, ""
		}
	}
	return nil, "without the race detector, which needs a C compiler"
}
