package version

import (
	"runtime/debug"
	"strconv"
	"strings"
)

const modulePath = "go.mongodb.org/mongo-driver/v2"

// Required returns the version of the driver that the program's go.mod files ask for, such as "v2.9.3", and whether it is newer
// than the one that the fork is built on. A replace line takes the place of any version without a word, so that such a program
// runs an older driver than it was made for. The version is empty, and newer is false, where the program does not tell: in tests
// of the driver itself, and in programs that were not built from modules. It is read anew with each call, which takes some
// microseconds. Required is safe for concurrent use.
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
			return dep.Version, above(dep.Version, base)
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

// numbers returns major, minor and patch; 0 for what is no number.
func numbers(version string) (n [3]int) {
	version = strings.TrimPrefix(version, "v")
	if cut := strings.IndexAny(version, "-+"); cut >= 0 {
		version = version[:cut]
	}
	for i, field := range strings.SplitN(version, ".", 3) {
		n[i], _ = strconv.Atoi(field)
	}
	return n
}
