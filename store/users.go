package store

import (
	"context"
	"time"
)

// A User is somebody who may use the servers of a database.
type User struct {
	Name  string
	Role  string // see package api
	Token string // the SHA-256 of the token, in hex
	Since time.Time
}

// Users keeps users. A database that machines share is one; the state folder of a machine has its owner alone.
type Users interface {
	// Users returns all, by name.
	Users(ctx context.Context) ([]User, error)
	// PutUser adds a user, or replaces the one with the name.
	PutUser(ctx context.Context, u User) error
	// RemoveUser reports whether there was one.
	RemoveUser(ctx context.Context, name string) (was bool, err error)
}
