// Package forktest has what the tests of the builder's packages share: a made-up module, repositories with an overlay, work trees.
package forktest
