package driver

// getCommandName returns the name of a command, which is the key of its first element.
//
//fork:wrap the name of nearly every command is the operation's, and need not be made of the command's bytes
func (op Operation) getCommandName(doc []byte) string {
	const start = lengthSize + 1 // the type
	if end := start + len(op.Name); end < len(doc) && doc[end] == 0 && string(doc[start:end]) == op.Name {
		return op.Name
	}
	return op.upstreamGetCommandName(doc)
}
