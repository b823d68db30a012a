package mongo

import (
	"context"
	"fmt"
	"reflect"
	"sort"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
)

// optionsOf is a method with what it is given before its options.
type optionsOf struct {
	method  string
	args    []any
	options any
	local   string // the option that no command tells
}

var everyOption = []optionsOf{
	{"Collection.Aggregate", []any{Pipeline{}}, options.Aggregate(), "MaxAwaitTime"},
	{"Collection.BulkWrite", []any{[]WriteModel{NewInsertOneModel().SetDocument(replaced), NewDeleteOneModel().SetFilter(anything)}},
		options.BulkWrite(), ""},
	{"Client.BulkWrite", []any{[]ClientBulkWrite{{Database: "db", Collection: "a", Model: &ClientInsertOneModel{Document: replaced}}}},
		options.ClientBulkWrite(), ""},
	{"Collection.CountDocuments", []any{anything}, options.Count(), ""},
	{"Database.CreateCollection", []any{"new"}, options.CreateCollection(), ""},
	{"Collection.DeleteMany", []any{anything}, options.DeleteMany(), ""},
	{"Collection.DeleteOne", []any{anything}, options.DeleteOne(), ""},
	{"Collection.Distinct", []any{"x", anything}, options.Distinct(), ""},
	{"Collection.Find", []any{anything}, options.Find(), "MaxAwaitTime"},
	{"Collection.FindOne", []any{anything}, options.FindOne(), ""},
	{"Collection.FindOneAndDelete", []any{anything}, options.FindOneAndDelete(), ""},
	{"Collection.FindOneAndReplace", []any{anything, replaced}, options.FindOneAndReplace(), ""},
	{"Collection.FindOneAndUpdate", []any{anything, increment}, options.FindOneAndUpdate(), ""},
	{"GridFSBucket.Find", []any{anything}, options.GridFSFind(), ""},
	{"GridFSBucket.UploadFromStreamWithID", []any{1, "file", content}, options.GridFSUpload(), "Registry"},
	{"GridFSBucket.OpenDownloadStreamByName", []any{"file"}, options.GridFSName(), ""},
	{"Collection.InsertMany", []any{[]any{replaced}}, options.InsertMany(), ""},
	{"Collection.InsertOne", []any{replaced}, options.InsertOne(), ""},
	{"Database.ListCollectionNames", []any{anything}, options.ListCollections(), "NameOnly"},
	{"Collection.ReplaceOne", []any{anything, replaced}, options.Replace(), ""},
	{"Database.RunCommand", []any{replaced}, options.RunCmd(), ""},
	{"Collection.UpdateMany", []any{anything, increment}, options.UpdateMany(), ""},
	{"Collection.UpdateOne", []any{anything, increment}, options.UpdateOne(), ""},
	{"Collection.Watch", []any{Pipeline{}}, options.ChangeStream(), ""},
}

// builder returns new options of the method.
func (o optionsOf) builder() reflect.Value { return reflect.New(reflect.TypeOf(o.options).Elem()) }

// call calls the method with options.
func (o optionsOf) call(c *Collection, builder reflect.Value) {
	result, _ := callMethod(bgCtx, c, o.method, append(append([]any{}, o.args...), builder.Interface())...)
	if stream, ok := result.(*ChangeStream); ok && stream != nil {
		stream.TryNext(bgCtx) // the first batch, which is empty
		stream.TryNext(bgCtx)
	}
}

// TestEveryOptionIsSent is about the options of methods: each changes a command, or is known not to.
func TestEveryOptionIsSent(t *testing.T) {
	for _, method := range everyOption {
		without := sentWith(t, method, method.builder())
		typ := reflect.TypeOf(method.options)
		for i := 0; i < typ.NumMethod(); i++ {
			setter := typ.Method(i)
			option := strings.TrimPrefix(setter.Name, "Set")
			if option == setter.Name || setter.Type.NumIn() != 2 {
				continue
			}
			sent := false
			for _, value := range optionValues(setter.Type.In(1)) {
				builder := method.builder()
				setter.Func.Call([]reflect.Value{builder, value})
				sent = sent || sentWith(t, method, builder) != without
			}
			assert.Equal(t, option != method.local, sent, "%s: %s", method.method, option)
		}
	}
}

// sentWith returns the commands that a method sends with options, without what is another each time.
func sentWith(t *testing.T, method optionsOf, builder reflect.Value) string {
	s := lasting(t, func(body bson.Raw) any {
		if body.Index(0).Key() == "aggregate" {
			return emptyOpen
		}
		return answering(body, "a document")
	})
	s.Servers[0].MaxBatchCount = 10
	method.call(scriptColl(t, s), builder)
	var all []string
	for _, sent := range s.Sent {
		elements, _ := sent.Command.Elements()
		for _, e := range elements {
			switch key := e.Key(); key {
			case "lsid", "$clusterTime", "txnNumber":
			case "documents", "ops": // with new _id values
				values, _ := e.Value().Array().Values()
				for _, value := range values {
					all = append(all, namesIn(value.Document()))
				}
			default:
				all = append(all, e.String())
			}
		}
	}
	return strings.Join(all, "\n")
}

// namesIn returns the names of the elements of a document, with the values of numbers.
func namesIn(doc bson.Raw) string {
	var names []string
	elements, _ := doc.Elements()
	for _, e := range elements {
		name := e.Key()
		if value, ok := e.Value().AsInt64OK(); ok {
			name += fmt.Sprint(value)
		}
		names = append(names, name)
	}
	sort.Strings(names)
	return strings.Join(names, " ")
}

// optionValues returns values of an option's type, at least one of which is not its default.
func optionValues(typ reflect.Type) []reflect.Value {
	convert := func(values ...any) (converted []reflect.Value) {
		for _, value := range values {
			converted = append(converted, reflect.ValueOf(value).Convert(typ))
		}
		return converted
	}
	switch typ.Kind() {
	case reflect.Bool:
		return convert(false, true)
	case reflect.String:
		return convert("updateLookup")
	case reflect.Interface:
		return []reflect.Value{reflect.ValueOf(replaced), reflect.ValueOf("x")}
	case reflect.Slice:
		if list := reflect.ValueOf([]any{replaced}); list.Type().ConvertibleTo(typ) {
			return []reflect.Value{list.Convert(typ)}
		}
		return []reflect.Value{reflect.Zero(typ)}
	case reflect.Pointer:
		value := reflect.New(typ.Elem())
		if typ.Elem().Kind() != reflect.Struct {
			value.Elem().Set(optionValues(typ.Elem())[0])
			return []reflect.Value{value}
		}
		for i := 0; i < typ.Elem().NumField(); i++ {
			if field := value.Elem().Field(i); field.CanSet() {
				field.Set(optionValues(field.Type())[0])
			}
		}
		return []reflect.Value{value}
	case reflect.Map:
		return convert(bson.M{"custom": 1})
	case reflect.Int, reflect.Int8, reflect.Int32, reflect.Int64, reflect.Uint32:
		return convert(1, int64(3*time.Second))
	default:
		return []reflect.Value{reflect.Zero(typ)}
	}
}

// everyKind has a field for each option that says how values are encoded or decoded.
type everyKind struct {
	Slice    []string
	Bytes    []byte
	Map      map[string]int
	Keys     map[kindKey]int
	Int      int64
	Zero     struct{ A int } `bson:",omitempty"`
	Empty    string
	Document any
	Binary   any
	ID       string
	Double   int
	Time     time.Time
}

type kindKey string

func (k kindKey) String() string { return "the key " + string(k) }

// decoding are the options of a client for BSON that say how values are decoded; the others say how they are encoded.
var decoding = map[string]bool{
	"DefaultDocumentM": true, "DefaultDocumentMap": true, "UseLocalTimeZone": true, "ObjectIDAsHexString": true, "BinaryAsSlice": true,
	"AllowTruncatingDoubles": true, "ZeroMaps": true, "ZeroStructs": true,
}

// TestEveryBSONOption is about the options of a client for BSON: each changes what an insert sends, or what each method decodes.
func TestEveryBSONOption(t *testing.T) {
	without := codedWith(t, options.BSONOptions{})
	typ := reflect.TypeOf(options.BSONOptions{})
	for i := 0; i < typ.NumField(); i++ {
		option := typ.Field(i).Name
		var opts options.BSONOptions
		reflect.ValueOf(&opts).Elem().Field(i).SetBool(true)
		with := codedWith(t, opts)
		switch {
		case decoding[option]:
			for how := 1; how < len(with); how++ {
				assert.NotEqual(t, without[how], with[how], "%s: decoded by %d", option, how)
			}
		case option != "ErrorOnInlineDuplicates" && option != "UseJSONStructTags": // the codec remembers what it has learnt about a type
			assert.NotEqual(t, without[0], with[0], option)
		}
	}
}

// TestUseJSONStructTags is about the option whose codec remembers what it has learnt about a type.
func TestUseJSONStructTags(t *testing.T) {
	type tagged struct {
		A int `json:"other"`
	}
	s := lasting(t, scripted.OK(firstBatch(0, bson.D{{Key: "other", Value: 5}})))
	useTags := options.Client().SetBSONOptions(&options.BSONOptions{UseJSONStructTags: true})
	coll := scriptColl(t, s, useTags)
	var one tagged
	require.NoError(t, coll.FindOne(bgCtx, anything).Decode(&one))
	var all []tagged
	cursor := must(coll.Find(bgCtx, anything))(t)
	require.NoError(t, cursor.All(bgCtx, &all))
	assert.Equal(t, []tagged{{5}, {5}}, append(all, one))
}

// codedWith returns what an insert sends, and what FindOne, Cursor.Decode and Cursor.All decode.
func codedWith(t *testing.T, opts options.BSONOptions) (coded [4]string) {
	s := scripted.New(t)
	coll := scriptColl(t, s, options.Client().SetBSONOptions(&opts))
	s.Rest = scripted.OK()
	_, err := coll.InsertOne(bgCtx, everyKind{Keys: map[kindKey]int{"k": 1}})
	coded[0] = fmt.Sprint(err)
	if len(s.Sent) > 0 {
		elements, _ := s.Sent[0].Command.Lookup("documents", "0").Document().Elements()
		for _, e := range elements {
			if e.Key() != "_id" {
				coded[0] += e.String() + e.Value().Type.String()
			}
		}
	}
	for _, field := range []bson.E{
		{Key: "document", Value: bson.D{{Key: "x", Value: 1}}}, {Key: "binary", Value: bson.Binary{Data: []byte("b")}},
		{Key: "id", Value: bson.ObjectID{1}}, {Key: "double", Value: 3.5}, {Key: "time", Value: bson.DateTime(1)},
		{Key: "map", Value: bson.D{{Key: "new", Value: 1}}}, {Key: "zero", Value: bson.D{}},
	} {
		s.Rest = scripted.OK(firstBatch(0, bson.D{field}))
		used := func() everyKind { return everyKind{Map: map[string]int{"old": 1}, Zero: struct{ A int }{1}} }
		told := func(how int, v everyKind, err error) {
			coded[how] += fmt.Sprintf("%#v %#v %v %v %v %v %v %v\n", v.Document, v.Binary, v.ID, v.Double, v.Time.Location(), v.Map,
				v.Zero, err)
		}
		one, two, all := used(), used(), []everyKind{used()}
		err := coll.FindOne(bgCtx, anything).Decode(&one)
		told(1, one, err)
		cursor := must(coll.Find(bgCtx, anything))(t)
		require.True(t, cursor.Next(bgCtx))
		err = cursor.Decode(&two)
		told(2, two, err)
		cursor = must(coll.Find(bgCtx, anything))(t)
		err = cursor.All(bgCtx, &all)
		told(3, all[0], err)
	}
	return coded
}

// valuesOf returns all values of a field of a command.
func valuesOf(t *testing.T, command bson.Raw, name string) (values []bson.RawValue) {
	t.Helper()
	elements := must(command.Elements())(t)
	for _, element := range elements {
		if element.Key() == name {
			values = append(values, element.Value())
		}
	}
	return values
}

func inBackground(_ *Client, run func(context.Context) error) error { return run(bgCtx) }

// inSession returns a function that runs another in a session, after something else was done with that.
func inSession(t *testing.T, do func(*Session) error) func(*Client, func(context.Context) error) error {
	return func(client *Client, run func(context.Context) error) error {
		session := must(client.StartSession(options.Session().SetCausalConsistency(true)))(t)
		defer session.EndSession(bgCtx)
		require.NoError(t, do(session))
		return run(NewSessionContext(bgCtx, session))
	}
}

// TestFieldsOfRunCommand is about all other fields that the driver appends to a command: what the application has put into the command
// itself, in a session's or the client's place, is sent twice. The comment of RunCommand leaves that undefined.
func TestFieldsOfRunCommand(t *testing.T) {
	api := options.Client().SetServerAPIOptions(options.ServerAPI(options.ServerAPIVersion1).SetStrict(true).SetDeprecationErrors(true))
	session := inSession(t, func(*Session) error { return nil })
	transaction := inSession(t, func(s *Session) error {
		return s.StartTransaction(options.Transaction().SetReadConcern(readconcern.Majority()))
	})
	clock := inSession(t, func(s *Session) error {
		at := bson.D{{Key: "$clusterTime", Value: bson.D{{Key: "clusterTime", Value: bson.Timestamp{T: 1}}}}}
		return s.AdvanceClusterTime(must(bson.Marshal(at))(t))
	})
	for _, tt := range []struct {
		fields string
		client *options.ClientOptions
		within func(*Client, func(context.Context) error) error
		want   int
	}{
		{"$db lsid $readPreference", options.Client(), inBackground, 2},
		{"$clusterTime apiVersion comment", options.Client(), inBackground, 1},
		{"lsid", options.Client(), session, 2},
		{"readConcern txnNumber", options.Client(), session, 1},
		{"$clusterTime", options.Client(), clock, 2},
		{"readConcern", options.Client().SetReadConcern(readconcern.Majority()), inBackground, 1},
		{"readConcern txnNumber startTransaction autocommit", options.Client(), transaction, 2},
		{"writeConcern", options.Client(), transaction, 1},
		{"apiVersion apiStrict apiDeprecationErrors", api, inBackground, 2},
	} {
		for _, field := range strings.Fields(tt.fields) {
			s := lasting(t, scripted.OK())
			client := connectScript(t, s, tt.client)
			preference := options.RunCmd()
			if field == "$readPreference" {
				preference.SetReadPreference(readpref.Nearest())
			}
			require.NoError(t, tt.within(client, func(ctx context.Context) error {
				return client.Database("db").RunCommand(ctx, bson.D{{Key: "ping", Value: 1}, {Key: field, Value: 1}}, preference).Err()
			}))
			assert.Len(t, valuesOf(t, s.Sent[0].Command, field), tt.want, "%s of %v", field, tt)
		}
	}
}

// TestGetMoreOfRunCommand is about the cursor of an unknown command: its getMore is retried only if both reads and writes are.
func TestGetMoreOfRunCommand(t *testing.T) {
	for _, writes := range []bool{false, true} {
		s := lasting(t, scripted.OK(nextBatch(0, bson.D{})), emptyOpen, scripted.Overloaded())
		s.Policy.RetryWrites = writes
		cursor := must(connectScript(t, s).Database("db").RunCommandCursor(bgCtx, bson.D{{Key: "x", Value: 1}}))(t)
		assert.Equal(t, writes, cursor.Next(bgCtx), "%v", cursor.Err())
	}
}
