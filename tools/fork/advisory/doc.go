// Package advisory knows upstream's published vulnerabilities, and whether upstream or the fork fixed them in a version.
package advisory
