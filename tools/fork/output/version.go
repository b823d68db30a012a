package output

import (
	"fmt"
	"go/ast"
	"go/token"
	"strconv"
	"strings"

	"golang.org/x/mod/semver"

	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/syntax"
)

// patchLevel is the constant of the overlay that names the patch level of the fork, such as fork.1. What is compiled into the fork,
// and said in handshakes and logs, is thereby what it is released as.
var patchLevel = syntax.Key{Package: "version", Name: "Fork"}

// ReleaseVersion returns the version that a plan's fork is released as: the base, a hyphen, and the patch level that the overlay names.
func ReleaseVersion(p *plan.Plan) (string, error) {
	if v := ownVersion(p); v != "" {
		return v, nil
	}
	return "", fmt.Errorf("the overlay does not name its patch level by a constant %s; give --version", patchLevel)
}

// ownVersion returns the version that the plan's fork calls itself, empty if the overlay has no such constant.
func ownVersion(p *plan.Plan) string {
	for _, d := range p.Added {
		spec, ok := d.Spec.(*ast.ValueSpec)
		if d.Key != patchLevel || d.Kind != syntax.Const || !ok || len(spec.Values) != 1 {
			continue
		}
		if value, ok := spec.Values[0].(*ast.BasicLit); ok && value.Kind == token.STRING {
			if level, err := strconv.Unquote(value.Value); err == nil {
				return p.Module.Version + "-" + level
			}
		}
	}
	return ""
}

// CheckVersion refuses anything but a full version, and versions that are or could become upstream's own, which go.sum files know
// with other content. A pre-release of the base shows the fork's base and its origin.
func CheckVersion(base, version string) error {
	if semver.Canonical(version) != version || !strings.HasPrefix(version, base+"-") {
		return fmt.Errorf("version %q: want a version of the fork of %s, such as --version %s-fork.1", version, base, base)
	}
	return nil
}
