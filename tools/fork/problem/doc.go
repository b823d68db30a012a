// Package problem reports what stops the builder: where, what, and the cure.
package problem
