package server

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// SecantusDB 0.7.0b3 has wheels only for these Python versions.
const (
	oldestPython = 11
	newestPython = 13
)

var pythonRange = fmt.Sprintf("3.%d to 3.%d", oldestPython, newestPython)

// isolatedPython keeps the user's Python settings out of a virtual environment.
var isolatedPython = []string{"PYTHONHOME=", "PYTHONPATH=", "PYTHONNOUSERSITE=1"}

// findPython returns the path of a Python that the pins allow, or an error that says in a few words why there is none.
func findPython(ctx context.Context, cfg Config) (string, error) {
	names := []string{"python3"}
	for minor := newestPython; minor >= oldestPython; minor-- {
		names = append(names, "python3."+strconv.Itoa(minor))
	}
	names = append(names, "python") // what Windows calls it

	found := ""
	for _, name := range names {
		path, err := cfg.LookPath(name)
		if err != nil {
			continue
		}
		version, minor, err := pythonVersion(ctx, path)
		if err != nil {
			continue // such as a version manager's stand-in for one that is not installed
		}
		if oldestPython <= minor && minor <= newestPython {
			return path, nil
		}
		if found == "" {
			found = fmt.Sprintf(" (%s is %s)", name, version)
		}
	}
	return "", fmt.Errorf("no Python %s on the PATH%s", pythonRange, found)
}

// pythonVersion asks a Python for its version; minor is negative unless it is Python 3.
func pythonVersion(ctx context.Context, path string) (version string, minor int, err error) {
	output, err := exec.CommandContext(ctx, path, "-c", "import platform; print(platform.python_version())").Output()
	if err != nil {
		return "", 0, err
	}
	version = strings.TrimSpace(string(output))
	parts := strings.Split(version, ".")
	if len(parts) < 2 {
		return "", 0, fmt.Errorf("%q is not a version", version)
	}
	if parts[0] != "3" {
		return version, -1, nil
	}
	minor, err = strconv.Atoi(parts[1])
	return version, minor, err
}
