// Package fork lays the Go files of a repository over a module in the module cache: it checks what the files assert about
// that module against a lock, assembles the result, and writes it as a module, a patch or a release.
//
// It is the front of the packages below it, which docs/builder.md lists in the order in which they use each other.
package fork
