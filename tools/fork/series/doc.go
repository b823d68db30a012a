// Package series tells the overlay as a series of patches: which step brings what, the tree after each step, and whether each patch
// stands by itself.
package series
