// Package assemble lays a plan's overlay over its module, in memory: as a build does, with our declarations in our files, or in place, as
// upstream itself would make the change.
package assemble
