package proc

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"pawl/internal/helper"
)

// probed lets a helper try everything: containers and hardened kernels forbid
// namespaces, or allow them without a fresh /proc, or without the right to mount.
var probed = sync.OnceValue(func() Abilities {
	for _, k := range []helperKind{
		{isolation: Namespace, confined: true, network: true},
		{isolation: Namespace},
		{isolation: Sweeping},
	} {
		out, err := helperCommand(helper.Probe, k.flags()).Output()
		if err != nil {
			continue
		}
		words := strings.Fields(string(out))
		if k.isolation == Namespace && !slices.Contains(words, helper.CanMountProc) {
			continue
		}
		a := Abilities{
			Isolation: k.isolation,
			Tree:      slices.Contains(words, helper.CanMount),
			Network:   k.network && slices.Contains(words, helper.CanNetwork) && slices.Contains(words, helper.CanMount),
			Filter:    slices.Contains(words, helper.CanFilter),
		}
		for _, w := range words {
			if abi, ok := strings.CutPrefix(w, helper.Landlock); ok {
				a.Landlock, _ = strconv.Atoi(abi)
			}
		}
		return a
	}
	return Abilities{Isolation: Sweeping}
})
