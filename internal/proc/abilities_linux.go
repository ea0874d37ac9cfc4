package proc

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"pawl/internal/first"
)

// probed lets a helper try everything: containers and hardened kernels forbid
// namespaces, or allow them without a fresh /proc, or without the right to mount.
var probed = sync.OnceValue(func() Abilities {
	for _, k := range []kind{
		{Namespace, true, true},
		{Namespace, false, false},
		{Sweeping, false, false},
	} {
		out, err := helperCommand(first.Probe, k.flags()).Output()
		if err != nil {
			continue
		}
		words := strings.Fields(string(out))
		if k.isolation == Namespace && !slices.Contains(words, first.CanMountProc) {
			continue
		}
		a := Abilities{
			Isolation: k.isolation,
			Tree:      slices.Contains(words, first.CanMount),
			Network:   k.network && slices.Contains(words, first.CanNetwork) && slices.Contains(words, first.CanMount),
			Filter:    slices.Contains(words, first.CanFilter),
		}
		for _, w := range words {
			if abi, ok := strings.CutPrefix(w, first.Landlock); ok {
				a.Landlock, _ = strconv.Atoi(abi)
			}
		}
		return a
	}
	return Abilities{Isolation: Sweeping}
})
