package main

// The texts that --help prints below each command's one-line help, which is in the field's tag.

const exitCodes = "\n\nExit codes: 0 done, 1 problems found, 2 wrong usage or environment."

func (buildCmd) Help() string {
	return "All assertions are checked first; if any fails, all failures are listed and nothing is written. " +
		"An output with edits that would be lost is refused: extract brings them back to the overlay." + exitCodes
}

func (checkCmd) Help() string {
	return "Checks what the directives and the lock assert about upstream, as build does." + exitCodes
}

func (statusCmd) Help() string {
	return "Shows each declaration that replaces, wraps or extends one of upstream's, with its reason." + exitCodes
}

func (diffCmd) Help() string {
	return "Arguments may be files, folders, or declarations such as 'x/mongo/driver Operation.Execute'." + exitCodes
}

func (driftCmd) Help() string {
	return "Classes: same, moved and comment need no review; body, signature, gone and collides do, and make the command exit with 1." + exitCodes
}

func (acceptCmd) Help() string {
	return "Read what upstream has (mongofork diff --upstream KEY) before accepting it. " +
		"Without arguments only the output's hash is recorded. With --new, --base names the new base." + exitCodes
}

func (verifyCmd) Help() string {
	return "Prints the hash of the output; it has to be the one in the lock." + exitCodes
}

func (extractCmd) Help() string {
	return "Edits of files that came from the overlay, of extended fields, and new files in overlay folders are brought back. " +
		"If any edit cannot be brought back, nothing changes: edits inside upstream's text need a //fork:replace or //fork:wrap." + exitCodes
}

func (patchCmd) Help() string {
	return "Replacements stand where the old declarations stood, wrappers before what they wrap, and directives are left out. " +
		"The same sources give the same bytes." + exitCodes
}

func (releaseCmd) Help() string {
	return "Writes the .info, .mod and .zip of the version, the list of versions, SHA256SUMS, and the lines for go.sum. " +
		"A version is never overwritten with different content." + exitCodes
}

func (cleanCmd) Help() string {
	return "Removes the files that the manifest lists; others stay. Edited files are refused." + exitCodes
}

func (advisoriesCmd) Help() string {
	return "Reads etc/advisories.yaml. A base is fixed by upstream, fixed by the fork, or open; a fork of a base with an open advisory is refused." + exitCodes
}

func (useCmd) Help() string {
	return "Takes the lowest base that is not below the driver version that the application requires, unless --base names a higher one; " +
		"ignores BASE in the environment. Builds that fork, edits go.mod, runs go mod tidy, builds the application, " +
		"and runs go mod vendor if there is a vendor folder. go.mod, go.sum and vendor change together, or not at all." + exitCodes
}

func (seriesCmd) Help() string {
	return "Each step in etc/series is a commit after which the tree builds and passes its tests. " +
		"The same sources give the same bytes." + exitCodes
}

func (verifySeriesCmd) Help() string {
	return "Works in build/series/<base>.tree, which it overwrites. docs/builder.md lists what is checked after each patch." + exitCodes
}
