// Package pypi gets what tests need from the Python package index, by the hashes that this repository pins.
package pypi

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/lockedfile"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/process"
)

// ErrUnavailable means that something is not available here, where it may be elsewhere: that there is no Python, or that pip does not get
// the package. The text of an error that is one is one line.
var ErrUnavailable = errors.New("not available here")

// absence says why something is not available here, and is an ErrUnavailable.
type absence string

func (a absence) Error() string        { return string(a) }
func (a absence) Is(target error) bool { return target == ErrUnavailable }

// Absent returns an ErrUnavailable of this text alone.
func Absent(format string, args ...any) error { return absence(fmt.Sprintf(format, args...)) }

// Range and pythonVersion are the versions for which SecantusDB 0.7.0b3 has wheels.
const Range = "3.11 to 3.13"

var pythonVersion = regexp.MustCompile(`^Python 3\.(11|12|13)\.`)

// Isolated keeps the user's Python settings out of a virtual environment.
var Isolated = []string{"PYTHONHOME=", "PYTHONPATH=", "PYTHONNOUSERSITE=1"}

// find returns the path of a Python that the pins allow.
func find(ctx context.Context) (string, error) {
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
	return "", Absent("no Python %s on the PATH", Range)
}

func Executable(venv, name string) string {
	if runtime.GOOS == "windows" {
		return filepath.Join(venv, "Scripts", name+".exe")
	}
	return filepath.Join(venv, "bin", name)
}

// Ensure returns a virtual environment, in build/server below the root of the repository, that holds exactly what a file of pins in
// etc/server lists, and installs it if necessary, once for each content of the file, after a line about it.
func Ensure(ctx context.Context, root, pins, what string, progress io.Writer) (venv string, err error) {
	pins = filepath.Join(root, "etc", "server", pins)
	text, err := os.ReadFile(pins)
	venv, absErr := filepath.Abs(filepath.Join(root, "build", "server", "venv-"+filetree.Digest(text)[:16]))
	if err := errors.Join(err, absErr, os.MkdirAll(filepath.Dir(venv), 0o755)); err != nil {
		return "", err
	}
	unlock, err := lockedfile.MutexAt(venv + ".lock").Lock() // another process may be installing it
	if err != nil {
		return "", err
	}
	defer unlock()
	installed := filepath.Join(venv, "installed")
	_, marked := os.Stat(installed)
	if _, runs := os.Stat(Executable(venv, "python")); marked == nil && runs == nil {
		return venv, nil
	}
	fmt.Fprintf(progress, "installing %s in %s, once\n", what, venv)
	if err := pip(ctx, venv, pins, nil, "install", "--only-binary", ":all:"); err != nil {
		return "", errors.Join(err, os.RemoveAll(venv))
	}
	return venv, os.WriteFile(installed, nil, 0o644)
}

//go:embed backend.py
var backend []byte

// Download returns the source distribution that a requirement names, with its hash, as a line of a file for pip. Nothing in it is run: what
// pip asks the distribution's own build system for, its name and version, is read from the distribution.
func Download(ctx context.Context, requirement string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "pypi-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	pins := filepath.Join(dir, "requirements.txt")
	files := filetree.Tree{"requirements.txt": []byte(requirement + "\n"), "backend/hatchling/build.py": backend}
	if err := files.Write(dir); err != nil {
		return nil, err
	}
	err = pip(ctx, filepath.Join(dir, "venv"), pins, []string{"PYTHONPATH=" + filepath.Join(dir, "backend")},
		"download", "--no-binary", ":all:", "--no-build-isolation", "--dest", filepath.Join(dir, "got"))
	if err != nil {
		return nil, err
	}
	got, err := filepath.Glob(filepath.Join(dir, "got", "*.tar.gz"))
	if err != nil || len(got) != 1 {
		return nil, fmt.Errorf("%s: pip got %d archives instead of one", requirement, len(got))
	}
	return os.ReadFile(got[0])
}

// pip makes an environment anew, regardless of the remains of an interrupted attempt, and runs pip there on what a file of pins lists.
func pip(ctx context.Context, venv, pins string, env []string, verb string, args ...string) error {
	python, err := find(ctx)
	if err := errors.Join(err, os.RemoveAll(venv)); err != nil {
		return err
	}
	args = append([]string{Executable(venv, "python"), "-m", "pip", verb, "--require-hashes", "--no-deps",
		"--disable-pip-version-check", "--no-input", "--retries", "2", "-r", pins}, args...)
	for _, command := range [][]string{{python, "-m", "venv", venv}, args} {
		var out bytes.Buffer
		err := process.Run(ctx, "", slices.Concat(os.Environ(), Isolated, env), &out, &out, command[0], command[1:]...)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case strings.Contains(out.String(), "DO NOT MATCH THE HASHES"):
			return fmt.Errorf("the package index offers another file than the pinned one; it was discarded: if you trust it, "+
				"change the hash in %s", pins)
		case err != nil: // usually there is no network
			return Absent("%s %s fails (%v): %s", filepath.Base(command[0]), strings.Join(command[1:4], " "), err,
				LastLine(out.Bytes()))
		}
	}
	return nil
}

func LastLine(output []byte) string {
	text := strings.TrimSpace(string(output))
	return text[strings.LastIndex(text, "\n")+1:]
}
