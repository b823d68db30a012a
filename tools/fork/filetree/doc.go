// Package filetree holds the content of folders in memory: it reads, writes, hashes and compares them.
package filetree
