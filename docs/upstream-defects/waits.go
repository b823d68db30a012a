package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// checkout is a find that is cancelled while it waits for the only connection of its pool.
func checkout() {
	s := start(func(n int64) bson.M {
		if n == 1 {
			time.Sleep(time.Second)
		}
		return ok(n)
	})
	coll := s.coll("maxPoolSize=1")
	go coll.FindOne(context.Background(), bson.D{})
	time.Sleep(200 * time.Millisecond)
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(100*time.Millisecond, cancel)
	err := coll.FindOne(ctx, bson.D{}).Err()
	fmt.Printf("cancelled: errors.Is context.Canceled %v, IsTimeout %v\n", errors.Is(err, context.Canceled), mongo.IsTimeout(err))
}

// selection is five finds that wait for a server when their client is disconnected.
func selection() {
	client, err := mongo.Connect(options.Client().ApplyURI("mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=3000"))
	must(err)
	errs := make(chan error, 5)
	for range cap(errs) {
		go func() { errs <- client.Database("db").Collection("coll").FindOne(context.Background(), bson.D{}).Err() }()
	}
	time.Sleep(200 * time.Millisecond)
	begin, told := time.Now(), 0
	go client.Disconnect(context.Background())
	for range cap(errs) {
		if errors.Is(<-errs, mongo.ErrClientDisconnected) {
			told++
		}
	}
	fmt.Printf("5 finds, waited longer than a second after Disconnect: %v, with ErrClientDisconnected: %d\n",
		time.Since(begin) > time.Second, told)
}

// graceful is a Disconnect with a deadline while a command gets no reply.
func graceful() {
	s := start(func(n int64) bson.M {
		time.Sleep(5 * time.Second)
		return ok(n)
	})
	client := s.connect("")
	go client.Database("db").RunCommand(context.Background(), bson.D{{Key: "ping", Value: 1}})
	time.Sleep(200 * time.Millisecond)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	go client.Disconnect(ctx)
	fmt.Printf("Disconnect computed in more than 50 of 100 samples: %v\n", busy("(*pool).close") > 50)
}

// busy returns in how many of 100 samples, one in 10 ms, a goroutine computed in a function.
func busy(function string) (samples int) {
	buffer := make([]byte, 1<<20)
	for range 100 {
		time.Sleep(10 * time.Millisecond)
		for _, stack := range strings.Split(string(buffer[:runtime.Stack(buffer, true)]), "\n\n") {
			state, calls, _ := strings.Cut(stack, "\n")
			if (strings.Contains(state, "running") || strings.Contains(state, "runnable")) && strings.Contains(calls, function) {
				samples++
				break
			}
		}
	}
	return samples
}

// quiet is a change stream whose first Next times out. Then comes an event.
func quiet() {
	var s *server
	var mu sync.Mutex
	var commands []string
	event := bson.M{"_id": bson.M{"token": 1}}
	s = start(func(int64) bson.M {
		mu.Lock()
		defer mu.Unlock()
		name := s.last.Load().(bson.Raw).Index(0).Key()
		commands = append(commands, name)
		batch, key := bson.A{}, "firstBatch"
		switch {
		case name == "getMore" && len(commands) == 2:
			time.Sleep(500 * time.Millisecond)
			key = "nextBatch"
		case name == "getMore":
			batch, key = bson.A{event}, "nextBatch"
		}
		return bson.M{"ok": 1, "cursor": bson.M{"id": int64(7), "ns": "db.coll", key: batch}}
	})
	stream, err := s.coll("").Watch(context.Background(), mongo.Pipeline{})
	must(err)
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	fmt.Printf("Next, with 200 ms: %v, %v\n", stream.Next(ctx), mongo.IsTimeout(stream.Err()))
	time.Sleep(time.Second)
	fmt.Printf("Next, with all time: %v, error: %v\n", stream.Next(context.Background()), stream.Err() != nil)
	_ = stream.Close(context.Background())
	mu.Lock()
	defer mu.Unlock()
	fmt.Println("commands:", strings.Join(commands, " "))
}

// hellotypes is a connection whose hello has a version of another type, and a cursor on it with a comment.
func hellotypes() {
	s := start(func(int64) bson.M {
		return bson.M{"ok": 1, "cursor": bson.M{"id": int64(7), "ns": "db.coll", "firstBatch": bson.A{}}}
	})
	coll := s.coll("")
	s.malformed.Store(true)
	defer func() {
		if failure := recover(); failure != nil {
			fmt.Println("panic:", failure)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	cursor, err := coll.Find(ctx, bson.D{}, options.Find().SetComment("why"))
	if err == nil {
		cursor.Next(ctx)
		err = cursor.Err()
	}
	fmt.Println("error:", err)
}
