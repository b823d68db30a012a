// Package upstream gets the module that a fork is built on from the module cache, and finds declarations in it.
package upstream
