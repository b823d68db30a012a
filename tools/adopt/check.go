package adopt

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/mod/semver"
)

// driverVersion finds the version that upstream's package version states.
var driverVersion = regexp.MustCompile(`(?m)^var Driver = "([0-9.]+)"`)

// Check reports what the application is built with. Upstream's driver, or a fork of an older version than the application's
// modules require, is an error.
func (a Application) Check(ctx context.Context) (string, error) {
	dir, err := filepath.Abs(a.Dir)
	if err != nil {
		return "", err
	}
	out, err := a.Run(ctx, dir, nil, "go", "list", "-f", "{{.Dir}}\n{{with .Module}}{{.Version}}\n{{with .Replace}}{{.Path}} {{.Version}}{{end}}{{end}}", a.Driver+"/version")
	if err != nil {
		return "", err
	}
	lines := strings.SplitN(string(out), "\n", 3)
	if len(lines) < 3 {
		return "", fmt.Errorf("unexpected output of go list: %q", out)
	}
	folder, required, replacement := lines[0], lines[1], strings.TrimSpace(lines[2])
	if !isFork(folder) {
		return "", fmt.Errorf("%s is built with upstream's driver, %s: mongofork use %[1]s", a.Dir, required)
	}
	source, err := os.ReadFile(filepath.Join(folder, "version.go"))
	if err != nil {
		return "", err
	}
	found := driverVersion.FindSubmatch(source)
	if found == nil {
		return "", fmt.Errorf("%s names no version of the driver", filepath.Join(folder, "version.go"))
	}
	base := "v" + string(found[1])
	if semver.Compare(base, required) < 0 {
		return "", fmt.Errorf("%s requires %s of the driver and is built with the fork of %s, a step back: mongofork use %[1]s", a.Dir, required, base)
	}
	return fmt.Sprintf("%s is built with the fork of %s, by %s", a.Dir, base, replacement), nil
}
