// Package git makes git repositories of the builder's own, in which patches come about and are tried.
package git
