package store

import (
	"fmt"
	"net/url"
)

// An Opener opens the store at an address. Options that have no meaning there are ignored.
type Opener func(address string, opt Options) (Database, error)

var openers = map[string]Opener{}

// Register makes the addresses of a scheme known, before [OpenAt] is called. The program pawl
// has none, so that it does not link what only some need.
func Register(scheme string, open Opener) { openers[scheme] = open }

// OpenAt opens the store at an address, such as postgres://USER@HOST/DATABASE; "": [Open] in dir. A
// password in the address is refused: the address is shown, and given to the programs of external agents.
func OpenAt(address, dir string, opt Options) (Database, error) {
	if address == "" {
		return Open(dir, opt)
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" {
		return nil, fmt.Errorf("the address of a store is not a URL such as postgres://USER@HOST/DATABASE")
	}
	if _, has := u.User.Password(); has || u.Query().Has("password") {
		return nil, fmt.Errorf("the address of the store %s has a password: give it in ~/.pgpass, or in PGPASSWORD", u.Redacted())
	}
	open := openers[u.Scheme]
	if open == nil {
		return nil, fmt.Errorf("the store %s cannot be opened by this program: pawl-fleet has PostgreSQL (docs/fleet.md)", address)
	}
	return open(address, opt)
}
