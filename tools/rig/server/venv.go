package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// venv is a Python virtual environment that holds exactly what a file of pinned
// requirements lists.
type venv struct {
	dir string
	// requirements is the path of the pins.
	requirements string
}

// pinnedVenv returns the virtual environment for a file of pins in the repository. Its name has the pins' hash, so that new pins
// get a new environment.
func pinnedVenv(root, pinned, prefix string) (venv, error) {
	requirements, err := filepath.Abs(filepath.Join(root, "etc", "server", pinned))
	if err != nil {
		return venv{}, err
	}
	pins, err := os.ReadFile(requirements)
	if err != nil {
		return venv{}, fmt.Errorf("read the server's pins: %w", err)
	}
	dir, err := filepath.Abs(filepath.Join(root, "build", "server"))
	if err != nil {
		return venv{}, err
	}
	hash := sha256.Sum256(pins)
	return venv{dir: filepath.Join(dir, prefix+hex.EncodeToString(hash[:8])), requirements: requirements}, nil
}

// secantusVenv returns the virtual environment of SecantusDB.
func secantusVenv(root string) (venv, error) { return pinnedVenv(root, "requirements.txt", "venv-") }

// executable returns the path of a program in the environment.
func (v venv) executable(name string) string {
	if runtime.GOOS == "windows" {
		return filepath.Join(v.dir, "Scripts", name+".exe")
	}
	return filepath.Join(v.dir, "bin", name)
}

// marker is the file that is written last.
func (v venv) marker() string { return filepath.Join(v.dir, "installed") }

// complete reports whether an environment was installed completely and its Python still exists.
func (v venv) complete() bool {
	for _, path := range []string{v.marker(), v.executable("python")} {
		if _, err := os.Stat(path); err != nil {
			return false
		}
	}
	return true
}

// ensureVenv returns a complete environment, and installs it if necessary. Its error says in a few words what is missing.
func ensureVenv(ctx context.Context, cfg Config) (venv, error) {
	env, err := secantusVenv(cfg.Root)
	if err != nil {
		return venv{}, err
	}
	if env.complete() {
		return env, nil
	}
	python, err := findPython(ctx, cfg)
	if err != nil {
		return venv{}, err
	}
	if err := os.MkdirAll(filepath.Dir(env.dir), 0o755); err != nil {
		return venv{}, err
	}
	unlock, err := lock(ctx, env.dir+".lock")
	if err != nil {
		return venv{}, err
	}
	defer unlock()
	if env.complete() {
		return env, nil // another process installed it while this one waited
	}
	if err := env.install(ctx, cfg, python, "SecantusDB", env.dir); err != nil {
		return venv{}, err
	}
	return env, os.WriteFile(env.marker(), nil, 0o644)
}

// lock waits for the lock at path, which the system releases when its holder dies.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	type result struct {
		unlock func()
		err    error
	}
	locked := make(chan result, 1)
	go func() {
		unlock, err := lockedfile.MutexAt(path).Lock()
		locked <- result{unlock, err}
	}()
	select {
	case r := <-locked:
		return r.unlock, r.err
	case <-ctx.Done():
		go func() {
			if r := <-locked; r.err == nil {
				r.unlock()
			}
		}()
		return nil, ctx.Err()
	}
}

// install recreates the environment, regardless of the remains of an interrupted attempt. It reports what it installs and where.
func (v venv) install(ctx context.Context, cfg Config, python, what, where string) error {
	if err := os.RemoveAll(v.dir); err != nil {
		return err
	}
	cfg.progressf("installing %s in %s, once", what, where)
	steps := []struct {
		what string
		run  command
	}{
		{"python -m venv", command{path: python, args: []string{"-m", "venv", v.dir}}},
		{"pip install", command{path: v.executable("python"), args: []string{
			"-m", "pip", "install", "--require-hashes", "--no-deps", "--only-binary", ":all:",
			"--disable-pip-version-check", "--no-input", "--retries", "2", "-r", v.requirements,
		}}},
	}
	for _, step := range steps {
		step.run.env = isolatedPython
		if err := runStep(ctx, cfg, step.run); err != nil {
			return fmt.Errorf("%s fails (%w)", step.what, err)
		}
	}
	return nil
}

// runStep runs a command to its end. Its error is one line.
func runStep(ctx context.Context, cfg Config, what command) (err error) {
	dir, err := os.MkdirTemp(cfg.TempDir, "rig-install-")
	if err != nil {
		return err
	}
	what.env = append(privateTemp(dir), what.env...)
	c, err := startChild(dir, what)
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.wait(ctx); err != nil {
		return fmt.Errorf("%w: %s", err, lastError(c.logTail()))
	}
	return nil
}

// lastError returns the most telling line of pip's output: its last error, or its last line.
func lastError(output string) string {
	lines := strings.Split(output, "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if strings.HasPrefix(lines[i], "ERROR:") {
			return lines[i]
		}
	}
	return lines[len(lines)-1]
}
