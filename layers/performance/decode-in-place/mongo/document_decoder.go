package mongo

import (
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/inmemory"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// documentDecoder decodes documents that are in memory, one after the other.
type documentDecoder struct {
	bson.Decoder
	document inmemory.Document
	borrowed bool // by decoders of the application, which may keep the reader
}

// newDocumentDecoder returns a decoder with the options and the registry. Without options, or a registry, it has the default ones.
func newDocumentDecoder(opts *options.BSONOptions, reg *bson.Registry) *documentDecoder {
	d := &documentDecoder{Decoder: *bson.NewDecoder(nil)} // read gives it a reader
	if opts != nil {
		d.configure(opts)
	}
	if reg != nil {
		d.SetRegistry(reg)
		d.borrowed = reg != defaultRegistry
	}
	return d
}

// configure sets what the options say. Of the two types for documents, the latter has priority.
func (d *documentDecoder) configure(opts *options.BSONOptions) {
	when := func(on bool, set func(*bson.Decoder)) {
		if on {
			set(&d.Decoder)
		}
	}
	when(opts.DefaultDocumentM, (*bson.Decoder).DefaultDocumentM)
	when(opts.DefaultDocumentMap, (*bson.Decoder).DefaultDocumentMap)
	when(opts.UseJSONStructTags, (*bson.Decoder).UseJSONStructTags)
	when(opts.UseLocalTimeZone, (*bson.Decoder).UseLocalTimeZone)
	when(opts.ObjectIDAsHexString, (*bson.Decoder).ObjectIDAsHexString)
	when(opts.BinaryAsSlice, (*bson.Decoder).BinaryAsSlice)
	when(opts.AllowTruncatingDoubles, (*bson.Decoder).AllowTruncatingDoubles)
	when(opts.ZeroMaps, (*bson.Decoder).ZeroMaps)
	when(opts.ZeroStructs, (*bson.Decoder).ZeroStructs)
}

// read makes data the document that is decoded next.
func (d *documentDecoder) read(data []byte) *bson.Decoder {
	if d.borrowed {
		d.document.Reader = nil // this document gets another
	}
	d.document.Bytes = data
	d.Reset(bson.NewDocumentReader(&d.document))
	return &d.Decoder
}

// getDecoder returns a decoder of one document.
//
//fork:replace the document is in memory; to read it like a stream took 4 KB and a copy of each value
func getDecoder(data []byte, opts *options.BSONOptions, reg *bson.Registry) *bson.Decoder {
	return newDocumentDecoder(opts, reg).read(data)
}
