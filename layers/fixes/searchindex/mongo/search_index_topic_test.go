package mongo

var _ = noted("searchindex")
