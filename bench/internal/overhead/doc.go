// Package overhead measures what drivers cost when all is well, as pairs: the same operations with each driver, one after
// the other, many times over. What the machine does besides hits all of them, and the median of the ratios of each round
// leaves most of it out.
package overhead
