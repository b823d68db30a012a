// Package forktest has what the tests of the builder's packages share: a made-up module, and repositories with an overlay.
package forktest
