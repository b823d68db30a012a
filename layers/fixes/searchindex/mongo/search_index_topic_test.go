package mongo

func init() { topics["searchindex"] = true }
