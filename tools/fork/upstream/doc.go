// Package upstream gets the module that a fork is built on, from the module cache or from a git work tree, and finds declarations
// in it.
package upstream
