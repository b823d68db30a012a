package mongo_test

import (
	"context"
	"log"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// A change stream lives as long as the application wants it, whatever its calls
// meet.
func ExampleChangeStream_Next_outlivesOverload() {
	const pause = time.Second
	follow := func(
		ctx context.Context, stream *mongo.ChangeStream, handle func(bson.Raw),
	) error {
		for {
			for stream.Next(ctx) {
				handle(stream.Current)
			}
			// Nobody waits any longer, or nothing can follow.
			if ctx.Err() != nil || stream.ID() == 0 {
				return stream.Err()
			}
			log.Print("the change stream waits: ", stream.Err())
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
		}
	}

	var coll *mongo.Collection // that of the application
	watch := func(ctx context.Context, handle func(bson.Raw)) error {
		opts := options.ChangeStream()
		for {
			stream, err := coll.Watch(ctx, mongo.Pipeline{}, opts)
			if err != nil {
				return err
			}
			err = follow(ctx, stream, handle)
			_ = stream.Close(context.Background())
			if ctx.Err() != nil || stream.ResumeToken() == nil {
				return err
			}
			// The stream has ended though somebody still waits.
			opts.SetResumeAfter(stream.ResumeToken())
			time.Sleep(pause)
		}
	}
	_ = watch
}
