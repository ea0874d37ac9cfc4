package sandbox_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"pawl/internal/proc/proctest"
)

// The test binary is also the attacker: run as "BINARY attack NAME ARGUMENT…" it
// tries one thing that no shell script can, and prints "done" if it worked.
func TestMain(m *testing.M) {
	if len(os.Args) > 5 && os.Args[1] == "another-pawl" {
		anotherPawl(os.Args[2], os.Args[3], os.Args[4], os.Args[5:])
		return
	}
	if len(os.Args) > 2 && os.Args[1] == "attack" {
		attack, ok := attacks[os.Args[2]]
		if !ok {
			fmt.Println("no such attack")
			os.Exit(2)
		}
		if err := attack(os.Args[3:]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("done")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// number returns an argument that is a process id or a port.
func number(args []string) int {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		panic(err)
	}
	return n
}

func failed(e syscall.Errno) error {
	if e == 0 {
		return nil
	}
	return e
}

var attacks = map[string]func(args []string) error{
	"wait-for-connections": waitForConnections,
	"ptrace":               func(args []string) error { return unix.PtraceAttach(number(args)) },
	"ptrace-self-made": func([]string) error {
		return failed(errno(syscall.RawSyscall(unix.SYS_PTRACE, unix.PTRACE_TRACEME, 0, 0)))
	},
	"read-memory": func(args []string) error {
		b := make([]byte, 8)
		local := []unix.Iovec{{Base: &b[0], Len: 8}}
		_, err := unix.ProcessVMReadv(number(args), local, []unix.RemoteIovec{{Base: 0x400000, Len: 8}}, 0)
		if err == unix.EFAULT {
			return nil // looked at, and nothing there
		}
		return err
	},
	"open-memory":  func(args []string) error { return open("/proc/" + args[0] + "/mem") },
	"open-environ": func(args []string) error { return open("/proc/" + args[0] + "/environ") },
	"open-root":    func(args []string) error { return open("/proc/" + args[0] + "/root" + args[1]) },
	"open-cwd":     func(args []string) error { return open("/proc/" + args[0] + "/cwd/" + args[1]) },
	"kill":         func(args []string) error { return syscall.Kill(number(args), 0) },
	"kill-by-pidfd": func(args []string) error {
		fd, err := unix.PidfdOpen(number(args), 0)
		if err != nil {
			return err
		}
		return unix.PidfdSendSignal(fd, 0, nil, 0)
	},
	"prlimit": func(args []string) error {
		return unix.Prlimit(number(args), unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 512, Max: 1 << 20}, nil)
	},
	"create-setuid": func(args []string) error {
		fd, err := unix.Open(args[0], unix.O_CREAT|unix.O_WRONLY, 0o4755)
		unix.Close(fd)
		return err
	},
	"create-setuid-openat2": func(args []string) error {
		fd, err := unix.Openat2(unix.AT_FDCWD, args[0], &unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY, Mode: 0o4755})
		unix.Close(fd)
		return err
	},
	"unshare-user": func([]string) error { return unix.Unshare(unix.CLONE_NEWUSER) },
	"clone-user": func([]string) error {
		pid, _, e := syscall.RawSyscall6(unix.SYS_CLONE, unix.CLONE_NEWUSER|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		if pid == 0 && e == 0 {
			syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
		}
		return failed(e)
	},
	"clone3": func([]string) error {
		attr := struct{ a [11]uint64 }{}
		attr.a[0], attr.a[4] = unix.CLONE_NEWUSER, uint64(unix.SIGCHLD)
		pid, _, e := syscall.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
		if pid == 0 && e == 0 {
			syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
		}
		return failed(e)
	},
	"setns": func([]string) error {
		fd, err := unix.Open("/proc/self/ns/mnt", unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		return unix.Setns(fd, 0)
	},
	"exchange": func(args []string) error {
		return unix.Renameat2(unix.AT_FDCWD, args[0], unix.AT_FDCWD, args[1], unix.RENAME_EXCHANGE)
	},
	"mount":     func([]string) error { return unix.Mount("none", ".", "tmpfs", 0, "") },
	"remount":   func(args []string) error { return unix.Mount("none", args[0], "", unix.MS_REMOUNT|unix.MS_BIND, "") },
	"unmount":   func(args []string) error { return unix.Unmount(args[0], unix.MNT_DETACH) },
	"open-tree": func([]string) error { _, err := unix.OpenTree(unix.AT_FDCWD, ".", unix.OPEN_TREE_CLONE); return err },
	"chroot":    func([]string) error { return unix.Chroot(".") },
	"mknod":     func([]string) error { return unix.Mknod("disk", unix.S_IFBLK|0o600, int(unix.Mkdev(254, 0))) },
	"open-handle": func([]string) error {
		_, err := unix.OpenByHandleAt(unix.AT_FDCWD, unix.NewFileHandle(1, make([]byte, 8)), 0)
		return refused(err)
	},
	"io-uring": func([]string) error {
		var p [120]byte
		return failed(errno(syscall.RawSyscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&p)), 0)))
	},
	"bpf": func([]string) error {
		var a [128]byte
		return refused(failed(errno(syscall.RawSyscall(unix.SYS_BPF, 0, uintptr(unsafe.Pointer(&a)), 128))))
	},
	"keyctl": func([]string) error {
		_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, true)
		return err
	},
	"add-key": func([]string) error {
		_, err := unix.AddKey("user", "x", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
		return err
	},
	"perf": func([]string) error {
		_, err := unix.PerfEventOpen(&unix.PerfEventAttr{Type: 1, Size: 64}, 0, -1, -1, 0)
		return err
	},
	"userfaultfd": func([]string) error { return failed(errno(syscall.RawSyscall(unix.SYS_USERFAULTFD, 1, 0, 0))) },
	"kernel-log":  func([]string) error { _, err := unix.Klogctl(3, make([]byte, 16)); return err },
	"type-ahead": func([]string) error {
		c := byte('x')
		return refused(failed(errno(syscall.RawSyscall(unix.SYS_IOCTL, 0, unix.TIOCSTI, uintptr(unsafe.Pointer(&c))))))
	},
	"vsock": func([]string) error { _, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0); return err },
	// Group 2 of these is what programs outside hear of devices from udev.
	"send-to-group": func([]string) error {
		fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT)
		if err != nil {
			return err
		}
		if err := unix.Connect(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: 2}); err != nil {
			return err
		}
		if _, err := unix.Write(fd, []byte("x")); err != unix.ECONNREFUSED { // no one listens
			return err
		}
		return nil
	},
	"packets": func([]string) error { _, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0); return err },
	"raw-socket": func([]string) error {
		_, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)
		return err
	},
	"core-pattern": func([]string) error {
		_, err := os.OpenFile("/proc/sys/kernel/core_pattern", os.O_WRONLY, 0)
		return err
	},
	// A parent outside of the pid namespace has the number 0; its fork is the first process.
	"kill-helper": func([]string) error { return syscall.Kill(max(os.Getppid(), 1), 0) },
	"dial":        func(args []string) error { return dial(args[0], args[1]) },
	"dial-in": func(args []string) error {
		if err := os.Chdir(args[0]); err != nil {
			return err
		}
		return dial("unix", "s.sock")
	},
	// The address changes while it is looked at, from a socket of its own to another's.
	"dial-racing": func(args []string) error {
		dir, err := os.MkdirTemp("", "own")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if err := os.Chdir(dir); err != nil {
			return err
		}
		if l, err := net.Listen("unix", "s.sock"); err == nil {
			defer l.Close()
		}
		if err := os.Symlink(dir, "a"); err != nil {
			return err
		}
		if err := os.Symlink(args[0], "b"); err != nil {
			return err
		}
		var address [110]byte
		address[0] = unix.AF_UNIX
		copy(address[2:], "a/s.sock")
		done := make(chan bool)
		go func() {
			for {
				select {
				case <-done:
					return
				default:
					address[2] ^= 'a' ^ 'b'
				}
			}
		}()
		defer close(done)
		for range 300 {
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			syscall.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&address)), 11)
			unix.Close(fd)
		}
		return errors.New("whoever was reached says so")
	},
	"send-datagram":               func(args []string) error { return sendDatagram(unix.SOCK_DGRAM, args[0]) },
	"send-raw-datagram":           func(args []string) error { return sendDatagram(unix.SOCK_RAW, args[0]) },
	"send-datagram-from-pair":     func(args []string) error { return sendDatagramFromPair(unix.SOCK_DGRAM, args[0]) },
	"send-raw-datagram-from-pair": func(args []string) error { return sendDatagramFromPair(unix.SOCK_RAW, args[0]) },
	"serve-and-dial-unix": func(args []string) error {
		l, err := net.Listen("unix", args[0])
		if err != nil {
			return err
		}
		defer l.Close()
		for range 20 {
			if err := dial("unix", args[0]); err != nil {
				return err
			}
		}
		return nil
	},
	"serve-and-dial": func([]string) error {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		return dial("tcp", l.Addr().String())
	},
}

func sendDatagram(kind int, path string) error {
	fd, err := unix.Socket(unix.AF_UNIX, kind, 0)
	if err != nil {
		return err
	}
	return unix.Sendto(fd, []byte("x"), 0, &unix.SockaddrUnix{Name: path})
}

func sendDatagramFromPair(kind int, path string) error {
	fds, err := unix.Socketpair(unix.AF_UNIX, kind, 0)
	if err != nil {
		return err
	}
	return unix.Sendto(fds[0], []byte("x"), 0, &unix.SockaddrUnix{Name: path})
}

func dial(network, address string) error {
	c, err := net.DialTimeout(network, address, time.Second)
	if err == nil {
		c.Close()
	}
	return err
}

func errno(_, _ uintptr, e syscall.Errno) syscall.Errno { return e }

// refused turns every error but a refusal into success: the kernel has looked at
// the arguments, which no command is to bring it to.
func refused(err error) error {
	if err == syscall.EPERM || err == syscall.EACCES {
		return err
	}
	return nil
}

func open(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Read(make([]byte, 1)); err != nil && strings.Contains(path, "environ") {
		return err
	}
	return nil
}

// modes runs a test with all that the machine has, and as if it had no namespaces.
func modes(t *testing.T, test func(t *testing.T, s *stage, tree bool)) {
	t.Parallel()
	t.Run("with namespaces", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.needsTree(t)
		test(t, s, true)
	})
	t.Run("without namespaces", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.policy.WithoutNamespaces()
		s.withoutNamespaces = true
		s.needsSandbox(t)
		test(t, s, false)
	})
}

// attacker puts the test binary into the workspace.
func (s *stage) attacker(t testing.TB) string {
	t.Helper()
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	return proctest.Program(t, filepath.Join(s.workspace, "attacker"), string(self))
}

func TestNoCommandReachesOtherProcessesOrTheKernelsInsides(t *testing.T) {
	modes(t, func(t *testing.T, s *stage, tree bool) {
		me := strconv.Itoa(os.Getpid())
		attacker := s.attacker(t)
		canary := s.write(t, "canary", "secret")
		for _, a := range [][]string{
			{"ptrace", me}, {"ptrace", "1"}, {"ptrace-self-made"}, {"read-memory", me}, {"read-memory", "1"},
			{"open-memory", me}, {"open-memory", "1"}, {"open-environ", me}, {"open-environ", "1"},
			{"open-root", me, canary}, {"open-root", "1", canary}, {"open-root", "self", canary}, {"open-cwd", me, "go.mod"}, {"open-cwd", "1", "etc/passwd"},
			{"kill", me}, {"kill-by-pidfd", me}, {"kill-helper"},
			{"unshare-user"}, {"clone-user"}, {"clone3"}, {"setns"}, {"mount"}, {"remount", "/"}, {"unmount", "/proc"}, {"open-tree"}, {"chroot"}, {"mknod"}, {"open-handle"},
			{"io-uring"}, {"bpf"}, {"keyctl"}, {"add-key"}, {"perf"}, {"userfaultfd"}, {"kernel-log"}, {"type-ahead"}, {"vsock"}, {"packets"}, {"raw-socket"}, {"core-pattern"},
		} {
			for _, level := range s.unprivileged(tree) {
				if o := s.run(t, level, append([]string{attacker, "attack"}, a...)...); o.status.Code != 1 {
					t.Errorf("%q: %v: code %d, printed %q", level, a, o.status.Code, o.printed)
				}
			}
		}
	})
}

func TestNoCommandReachesANetworkOrTheSocketsOfOthers(t *testing.T) {
	modes(t, func(t *testing.T, s *stage, tree bool) {
		attacker := s.attacker(t)
		listen := func(network, address string) string {
			l, err := net.Listen(network, address)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			return l.Addr().String()
		}
		abstract := fmt.Sprintf("@pawl-%d-%v", os.Getpid(), tree)
		listen("unix", abstract)
		// Names of sockets are short: 108 bytes.
		short, err := os.MkdirTemp("", "pawl")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(short) })
		loopback, outside := listen("tcp", "127.0.0.1:0"), listen("unix", filepath.Join(short, "s"))
		for _, a := range [][]string{
			{"tcp", loopback}, {"unix", abstract}, {"unix", outside}, {"tcp", "192.0.2.1:80"}, {"udp", "192.0.2.1:53"}, {"unix", "/var/run/docker.sock"}, {"unix", "/run/docker.sock"},
		} {
			o := s.run(t, "", append([]string{attacker, "attack", "dial"}, a...)...)
			if o.status.Code != 1 {
				t.Errorf("%v: code %d, printed %q", a, o.status.Code, o.printed)
			}
			if away := strings.HasPrefix(a[1], "192."); tree && o.status.NoRoute != away {
				t.Errorf("%v: the attempt to leave is said to be %v; printed %q", a, o.status.NoRoute, o.printed)
			}
		}
		// With the network open the rest of the sandbox holds.
		if o := s.run(t, "network", attacker, "attack", "dial", "tcp", loopback); o.status.Code != 0 {
			t.Errorf("with the network: %q", o.printed)
		}
		if o := s.run(t, "network", attacker, "attack", "dial", "unix", abstract); o.status.Code != 1 {
			t.Errorf("with the network, an abstract socket: %q", o.printed)
		}
		if o := s.run(t, "network", attacker, "attack", "dial", "unix", outside); tree && o.status.Code != 1 {
			t.Errorf("with the network, a socket of another program: %q", o.printed)
		}
		for _, a := range []string{"send-to-group", "vsock", "packets", "raw-socket"} {
			if o := s.run(t, "network", attacker, "attack", a); o.status.Code != 1 {
				t.Errorf("with the network, %s: %+v", a, o)
			}
		}
		// What a command serves itself it can reach.
		if o := s.run(t, "", attacker, "attack", "serve-and-dial"); tree && o.status.Code != 0 {
			t.Errorf("its own loopback: %q", o.printed)
		}
	})
}

// A command of root's reads nothing of /etc that root alone may, and nothing of the kernel's
// that shows what other programs do.
func TestACommandOfRootsReadsNothingThatRootAloneMay(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	s := newStage(t)
	s.needsSandbox(t)
	s.needsTree(t)
	o := s.sh(t, "find /etc -type f ! -perm -o=r -size +0; find /etc -mindepth 1 -type d ! -perm -o=x -exec find {} -mindepth 1 ';'; ls /sys/kernel/tracing /sys/kernel/debug 2>/dev/null | grep -v : ; test -s /etc/passwd && echo rest")
	if strings.TrimSpace(o.printed) != "rest" {
		t.Errorf("it sees %q", o.printed)
	}
}
