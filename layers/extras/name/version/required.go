package version

import (
	"runtime/debug"
	"strconv"
	"strings"
)

const modulePath = "go.mongodb.org/mongo-driver/v2"

// Required returns the version of the driver that the program's go.mod files require, such as "v2.10.0", and whether it is newer
// than the fork's base. A replace line silently replaces any version, so such a program runs an older driver than it was made
// for. If the version is unknown, as in tests of the driver itself and in programs not built from modules, it is empty and newer
// is false. Each call reads it anew, which takes some microseconds. Required is safe for concurrent use.
func Required() (required string, newer bool) {
	info, _ := debug.ReadBuildInfo()
	return requiredIn(info, "v"+strings.TrimSuffix(Driver, "-"+Fork))
}

func requiredIn(info *debug.BuildInfo, base string) (required string, newer bool) {
	if info == nil {
		return "", false
	}
	for _, dep := range info.Deps {
		if dep.Path == modulePath {
			return dep.Version, above(dep.Version, base) // what replaces it is in dep.Replace
		}
	}
	return "", false
}

// above compares the release numbers of two versions. A pre-release or pseudo-version of a release counts as the release: it has
// most of what the release has.
func above(a, b string) bool {
	as, bs := numbers(a), numbers(b)
	for i := range as {
		if as[i] != bs[i] {
			return as[i] > bs[i]
		}
	}
	return false
}

// numbers returns major, minor and patch, each 0 if it is not a number, as the major one, which all versions of the module share.
func numbers(version string) (n [3]int) {
	if cut := strings.IndexAny(version, "-+"); cut >= 0 {
		version = version[:cut]
	}
	for i, field := range strings.SplitN(version, ".", 3) {
		n[i], _ = strconv.Atoi(field)
	}
	return n
}
