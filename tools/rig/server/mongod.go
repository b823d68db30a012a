package server

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"

	"golang.org/x/mod/semver"
)

// oldestMongod is the first release series with the overload behaviour that the tests are about.
const oldestMongod = "8.2"

var mongodVersion = regexp.MustCompile(`(?m)^db version (v\d+\.\d+\.\d+\S*)`)

// findMongod returns the path and the version of a recent enough mongod, or an error that says in a few words why there is none.
func findMongod(ctx context.Context, cfg Config) (path, version string, err error) {
	path, err = cfg.LookPath("mongod")
	if err != nil {
		return "", "", fmt.Errorf("no mongod on the PATH")
	}
	output, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return "", "", fmt.Errorf("%s --version fails (%w)", path, err)
	}
	version, err = parseMongodVersion(string(output))
	if err != nil {
		return "", "", fmt.Errorf("%s --version: %w", path, err)
	}
	// A release candidate of the oldest series is recent enough.
	if semver.Compare(semver.MajorMinor(version), "v"+oldestMongod) < 0 {
		return "", "", fmt.Errorf("%s is %s", path, version)
	}
	return path, version, nil
}

// parseMongodVersion finds the version, such as v8.2.1, in the output of mongod --version.
func parseMongodVersion(output string) (string, error) {
	match := mongodVersion.FindStringSubmatch(output)
	if match == nil || !semver.IsValid(match[1]) {
		return "", fmt.Errorf("no version in %.60q", output)
	}
	return match[1], nil
}
