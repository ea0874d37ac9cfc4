package proc

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

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
		out, err := probeOutput(k)
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

// maxProbe bounds a probe, which takes milliseconds.
const maxProbe = 5 * time.Second

// probeOutput returns what the probe of a kind of helper prints. A probe that is killed is
// repeated: that says nothing about the machine.
func probeOutput(k helperKind) (out []byte, err error) {
	if k.flags() == helper.AllNamespaces {
		if out := aheadOutput(); len(out) > 0 {
			return out, nil
		}
	}
	for range 3 {
		cmd := helperCommand(helper.Probe, k.flags())
		var printed bytes.Buffer
		cmd.Stdout = &printed
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		timer := time.AfterFunc(maxProbe, func() { cmd.Process.Kill() })
		err = cmd.Wait()
		if err == nil || !timer.Stop() {
			return printed.Bytes(), err
		}
	}
	return nil, err
}

// aheadOutput returns what the probe prints that was started before the program initialized;
// nothing if there is none, or it did not come to its end. Its words are the last that it does.
func aheadOutput() []byte {
	pid, output, ok := helper.TakeAhead()
	if !ok {
		return nil
	}
	syscall.SetNonblock(output, true) // so that there can be a limit
	f := os.NewFile(uintptr(output), "probe")
	defer f.Close()
	f.SetReadDeadline(time.Now().Add(maxProbe))
	out, err := io.ReadAll(f)
	if err != nil {
		syscall.Kill(pid, syscall.SIGKILL)
		out = nil
	}
	go func() { // the end of its namespaces takes longer
		for {
			if _, err := syscall.Wait4(pid, nil, 0, nil); err != syscall.EINTR {
				return
			}
		}
	}()
	return out
}
