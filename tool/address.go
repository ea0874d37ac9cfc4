package tool

import (
	"net/netip"

	"pawl/permission/network"
)

// PublicAddress is the rule of [Fetch] for the addresses it may connect to, unless
// its options have another: an error for every address that is not one of the
// public internet. With granted, which says that somebody allowed this call's own
// host to be elsewhere, others are fine too.
func PublicAddress(host string, addr netip.AddrPort, granted bool) error {
	what := network.Special(addr.Addr())
	if what == "" || granted && addr.IsValid() {
		return nil
	}
	return tell("%s is at %s (%s): fetch connects to addresses of the public internet only.", host, addr.Addr(), what)
}
