// Package fork lays the Go files of a repository over a module in the module cache: it checks what the files assert about
// that module against a lock, assembles the result, and writes it as a module, a patch or a release.
package fork
