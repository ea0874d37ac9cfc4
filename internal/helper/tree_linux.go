package helper

import (
	"slices"
	"syscall"
	"unsafe"
)

// System calls that package syscall lacks; their numbers are the same everywhere,
// asm-generic/unistd.h, read 2026-11-20.
const (
	sysOpenTree     = 428
	sysMoveMount    = 429
	sysFsopen       = 430
	sysFsconfig     = 431
	sysFsmount      = 432
	sysMountSetattr = 442
)

// linux/mount.h and linux/fcntl.h, read 2026-11-20.
const (
	openTreeClone     = 1
	openTreeCloexec   = syscall.O_CLOEXEC
	atFDCWD           = -100
	atNoFollow        = 0x100
	atEmptyPath       = 0x1000
	atRecursive       = 0x8000
	moveFromFD        = 0x04 // MOVE_MOUNT_F_EMPTY_PATH
	moveToFD          = 0x40 // MOVE_MOUNT_T_EMPTY_PATH
	attrReadOnly      = 0x01
	attrNoSetuid      = 0x02
	attrNoDevices     = 0x04
	fsopenCloexec     = 1
	fsmountCloexec    = 1
	fsconfigSetString = 1
	fsconfigSetFlag   = 0
	fsconfigCreate    = 6
	oPath             = 0x200000
)

// Where the new tree has what is laid over files and folders that are not to be
// seen.
const (
	emptyFolder = "/run/.empty"
	emptyFile   = "/run/.none"
	oldRoot     = "/run/.old"
)

// devices are the files of /dev that every program may expect.
var devices = []string{"null", "zero", "full", "random", "urandom", "tty"}

// A freshMount is a file system that each command gets anew.
type freshMount struct {
	path, kind string
	options    []string
}

// mountFresh mounts what a command gets anew, in the mount namespace of the calling
// thread. The error comes with what failed.
func mountFresh(mounts []freshMount) (what string, err syscall.Errno) {
	for _, m := range mounts {
		fs, err := newFilesystem(m.kind, m.options...)
		if err != 0 {
			return m.path, err
		}
		at, err := openPlainly(m.path)
		if err == 0 {
			err = moveMount(fs, at)
			syscall.Close(at)
		}
		if syscall.Close(fs); err != 0 {
			return m.path, err
		}
	}
	return "", 0
}

// build makes the file tree of mounts and moves the helper, and so its commands,
// into it. What it was in before cannot be reached any more. It returns what each
// command has to get anew. The error comes with what failed.
func build(mounts []Mount) (fresh []freshMount, what string, err syscall.Errno) {
	// All that is to be shown is taken hold of before the new root covers
	// anything; each piece gets its own attributes before it is put in place.
	trees := make([]int, len(mounts))
	for i, m := range mounts {
		trees[i] = -1
		readOnly := m.Kind == ReadOnly
		switch m.Kind {
		case ReadOnly, Writable, Temporary, TemporaryReadOnly:
		case Overlay:
			readOnly = overlay(m) != 0
		default:
			continue
		}
		attributes := uint64(attrNoSetuid | attrNoDevices)
		if readOnly {
			attributes |= attrReadOnly
		}
		tree, err := openTree(m.Source, attributes)
		if err == syscall.ENOENT || err == syscall.ENOTDIR {
			continue // removed since the tree was planned
		}
		if err != 0 {
			return nil, m.Source, err
		}
		trees[i] = tree
	}
	// /proc is not to be written: much of /proc/sys is the whole machine's.
	proc, err := openTree("/proc", attrReadOnly|attrNoSetuid|attrNoDevices)
	if err != 0 {
		return nil, "/proc", err
	}
	nodes := make([]int, len(devices))
	for i, name := range devices {
		if nodes[i], err = openTree("/dev/"+name, attrNoSetuid); err != 0 {
			return nil, "/dev/" + name, err
		}
	}

	// Any folder that is there will do to put the new root on.
	const at = "/proc"
	if err := syscall.Mount("tmpfs", at, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "mode=0755,size=4m"); err != nil {
		return nil, "a new root", errnoOf(err)
	}
	fd, openErr := syscall.Open(at, oPath|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if openErr != nil {
		return nil, "a new root", errnoOf(openErr)
	}
	defer syscall.Close(fd)
	root := tree{fd: fd, makes: map[string]bool{}, shared: slices.ContainsFunc(mounts, func(m Mount) bool { return m.Target == "/dev/shm" })}
	if err := root.prepare(proc); err != 0 {
		return nil, "a new root", err
	}
	for i, m := range mounts {
		if err := root.add(m, trees[i], nodes); err != 0 {
			return nil, m.Target, err
		}
	}
	for i, m := range mounts { // nothing more has to be made in them
		if m.Kind == TemporaryReadOnly && trees[i] >= 0 {
			if err := setAttributes(trees[i], attrReadOnly, 0); err != 0 {
				return nil, m.Target, err
			}
		}
	}
	under, err := root.place(oldRoot, true)
	if err != 0 {
		return nil, "a new root", err
	}
	syscall.Close(under)
	if err := setAttributes(fd, attrReadOnly, 0); err != 0 {
		return nil, "a new root", err
	}
	if err := syscall.Fchdir(fd); err != nil {
		return nil, "a new root", errnoOf(err)
	}
	if err := syscall.PivotRoot(".", oldRoot[1:]); err != nil {
		return nil, "a new root", errnoOf(err)
	}
	if err := syscall.Unmount(oldRoot, syscall.MNT_DETACH); err != nil {
		return nil, "the old root", errnoOf(err)
	}
	return root.fresh, "/", errnoOf(syscall.Chdir("/"))
}

// overlay lays an overlay over its own source, in the helper's mounts alone.
func overlay(m Mount) syscall.Errno {
	for i := range len(m.Source + m.Upper) { // they would need quotes
		switch (m.Source + m.Upper)[i] {
		case ',', ':', '\\':
			return syscall.EINVAL
		}
	}
	// Without volatile the end of each command would wait until all of the disk that
	// the changes are on is written.
	options := "volatile,lowerdir=" + m.Source + ",upperdir=" + m.Upper + "/upper,workdir=" + m.Upper + "/work"
	if syscall.Geteuid() != 0 {
		options += ",userxattr"
	}
	return errnoOf(syscall.Mount("overlay", m.Source, "overlay", syscall.MS_NOSUID|syscall.MS_NODEV, options))
}

// A tree is a file tree that is being made.
type tree struct {
	fd int // its root folder
	// makes says, by the target of a mount, whether folders may be made in it to
	// mount others on. Nothing is made in what is the person's.
	makes map[string]bool
	fresh []freshMount // what each command gets anew
	// shared says that a mount is asked for at /dev/shm: it is not memory of each command then.
	shared bool
}

// prepare makes what every tree has.
func (t *tree) prepare(proc int) syscall.Errno {
	at, err := t.place("/proc", true)
	if err != 0 {
		return err
	}
	if err := moveMount(proc, at); err != 0 {
		return err
	}
	syscall.Close(at)
	for _, p := range []string{emptyFolder, emptyFile} {
		at, err := t.place(p, p == emptyFolder)
		if err != 0 {
			return err
		}
		syscall.Close(at)
	}
	return 0
}

// add puts one mount into the tree; source is the piece of a ReadOnly or Writable
// one, -1 if it is gone.
func (t *tree) add(m Mount, source int, nodes []int) syscall.Errno {
	switch m.Kind {
	case ReadOnly, Writable, Overlay:
		if source < 0 {
			return 0
		}
		defer syscall.Close(source)
		t.makes[m.Target] = false
		return t.attach(source, m.Target)
	case Temporary, TemporaryReadOnly:
		if source < 0 {
			return 0
		}
		t.makes[m.Target] = true
		return t.attach(source, m.Target)
	case Empty, NoFile:
		cover := emptyFolder
		if m.Kind == NoFile {
			cover = emptyFile
		}
		covered, err := openTreeAt(t.fd, cover[1:], attrReadOnly|attrNoSetuid|attrNoDevices)
		if err != 0 {
			return err
		}
		defer syscall.Close(covered)
		return t.attach(covered, m.Target)
	case Link:
		return t.link(m.Source, m.Target)
	case Memory:
		return t.addFresh(freshMount{m.Target, "tmpfs", []string{"mode=1777", "size=512m"}})
	case Devices:
		return t.addDevices(m.Target, nodes)
	}
	return syscall.EINVAL
}

func (t *tree) addDevices(dev string, nodes []int) syscall.Errno {
	for i, name := range devices {
		if err := t.attach(nodes[i], dev+"/"+name); err != 0 {
			return err
		}
		syscall.Close(nodes[i])
	}
	// A new instance: none of its terminals is anybody else's.
	if err := t.addFresh(freshMount{dev + "/pts", "devpts", []string{"ptmxmode=0666", "mode=0620"}}); err != 0 {
		return err
	}
	if !t.shared {
		if err := t.add(Mount{Kind: Memory, Target: dev + "/shm"}, -1, nil); err != 0 {
			return err
		}
	}
	for _, l := range [][2]string{{"pts/ptmx", "ptmx"}, {"/proc/self/fd", "fd"}, {"/proc/self/fd/0", "stdin"}, {"/proc/self/fd/1", "stdout"}, {"/proc/self/fd/2", "stderr"}} {
		if err := t.link(l[0], dev+"/"+l[1]); err != 0 {
			return err
		}
	}
	return 0
}

// addFresh makes the place of what each command gets anew.
func (t *tree) addFresh(m freshMount) syscall.Errno {
	at, err := t.place(m.path, true)
	if err != 0 {
		return err
	}
	syscall.Close(at)
	t.makes[m.path] = false
	t.fresh = append(t.fresh, m)
	return 0
}

// attach puts a piece, a file or a folder, at a path in the tree. Where the path is
// in what is the person's and no longer there, or something else by now, nothing is
// attached: it cannot be made for them.
func (t *tree) attach(piece int, path string) syscall.Errno {
	var stat syscall.Stat_t
	if err := syscall.Fstat(piece, &stat); err != nil {
		return errnoOf(err)
	}
	at, err := t.place(path, stat.Mode&syscall.S_IFMT == syscall.S_IFDIR)
	if err == errNotMade {
		return 0
	}
	if err != 0 {
		return err
	}
	defer syscall.Close(at)
	return moveMount(piece, at)
}

func (t *tree) link(to, path string) syscall.Errno {
	parent, name := cutLast(path)
	at, err := t.place(parent, true)
	if err != 0 {
		return err
	}
	defer syscall.Close(at)
	old, _ := syscall.BytePtrFromString(to)
	new, _ := syscall.BytePtrFromString(name)
	_, _, err = syscall.Syscall(syscall.SYS_SYMLINKAT, uintptr(unsafe.Pointer(old)), uintptr(at), uintptr(unsafe.Pointer(new)))
	return err
}

// errNotMade says that a path is not there and must not be made.
const errNotMade = syscall.ENOENT

// place opens a path of the tree, and makes what of it is missing where that may be
// done. It follows no link: what commands can write may have one in it that leads
// elsewhere, and the helper is bound by nothing yet.
func (t *tree) place(path string, folder bool) (int, syscall.Errno) {
	at, dupErr := syscall.Openat(t.fd, ".", oPath|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if dupErr != nil {
		return -1, errnoOf(dupErr)
	}
	names := pieces(path, "/")
	makes, prefix := true, ""
	for i, name := range names {
		isFolder := folder || i < len(names)-1
		next, err := step(at, name, isFolder, makes)
		syscall.Close(at)
		if err != 0 {
			return -1, err
		}
		at = next
		prefix += "/" + name
		if m, isMount := t.makes[prefix]; isMount {
			makes = m
		}
	}
	return at, 0
}

// step opens a name in a folder.
func step(at int, name string, folder, makes bool) (int, syscall.Errno) {
	flags := oPath | syscall.O_NOFOLLOW | syscall.O_CLOEXEC
	if folder {
		flags |= syscall.O_DIRECTORY
	}
	next, err := syscall.Openat(at, name, flags, 0)
	if !makes {
		if err == syscall.ENOTDIR || err == syscall.ELOOP || err == syscall.ENOENT {
			return -1, errNotMade
		}
		return next, errnoOf(err)
	}
	switch err {
	case nil:
		// A command may have closed a folder of the temporary one to others and to
		// itself.
		var stat syscall.Stat_t
		if syscall.Fstat(next, &stat) == nil && folder && stat.Mode&0o700 != 0o700 {
			syscall.Fchmodat(at, name, 0o755, 0)
		}
		return next, 0
	case syscall.ENOTDIR, syscall.ELOOP:
		if err := syscall.Unlinkat(at, name); err != nil {
			return -1, errnoOf(err)
		}
	case syscall.ENOENT:
	default:
		return -1, errnoOf(err)
	}
	if folder {
		err = syscall.Mkdirat(at, name, 0o755)
	} else {
		var made int
		if made, err = syscall.Openat(at, name, syscall.O_CREAT|syscall.O_EXCL|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0o444); err == nil {
			syscall.Close(made)
		}
	}
	if err != nil && err != syscall.EEXIST {
		return -1, errnoOf(err)
	}
	next, err = syscall.Openat(at, name, flags, 0)
	return next, errnoOf(err)
}

// cutLast cuts a path before its last name.
func cutLast(path string) (parent, name string) {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '/' {
			return path[:i], path[i+1:]
		}
	}
	return "", path
}

// openTree takes hold of a path and all that is mounted below it, with attributes
// of its own. A link at its end is not followed.
func openTree(path string, attributes uint64) (int, syscall.Errno) {
	return openTreeAt(atFDCWD, path, attributes)
}

func openTreeAt(dir int, path string, attributes uint64) (int, syscall.Errno) {
	p, err := syscall.BytePtrFromString(path)
	if err != nil {
		return -1, syscall.EINVAL
	}
	fd, _, errno := syscall.Syscall(sysOpenTree, uintptr(dir), uintptr(unsafe.Pointer(p)), openTreeClone|openTreeCloexec|atRecursive|atNoFollow)
	if errno != 0 {
		return -1, errno
	}
	if errno := setAttributes(int(fd), attributes, atRecursive); errno != 0 {
		syscall.Close(int(fd))
		return -1, errno
	}
	return int(fd), 0
}

// setAttributes adds attributes to the mount that fd is the root of.
func setAttributes(fd int, attributes uint64, flags uintptr) syscall.Errno {
	set := struct{ set, clear, propagation, userns uint64 }{set: attributes}
	empty := [1]byte{}
	_, _, errno := syscall.Syscall6(sysMountSetattr, uintptr(fd), uintptr(unsafe.Pointer(&empty)), atEmptyPath|flags, uintptr(unsafe.Pointer(&set)), unsafe.Sizeof(set), 0)
	return errno
}

func moveMount(from, to int) syscall.Errno {
	empty := [1]byte{}
	path := uintptr(unsafe.Pointer(&empty))
	_, _, errno := syscall.Syscall6(sysMoveMount, uintptr(from), path, uintptr(to), path, moveFromFD|moveToFD, 0)
	return errno
}

// newFilesystem makes a file system that is mounted nowhere yet; options are
// words, or names and values with = between.
func newFilesystem(kind string, options ...string) (int, syscall.Errno) {
	name, _ := syscall.BytePtrFromString(kind)
	fs, _, errno := syscall.Syscall(sysFsopen, uintptr(unsafe.Pointer(name)), fsopenCloexec, 0)
	if errno != 0 {
		return -1, errno
	}
	defer syscall.Close(int(fs))
	for _, o := range options {
		key, value := o, ""
		for i := range len(o) {
			if o[i] == '=' {
				key, value = o[:i], o[i+1:]
				break
			}
		}
		k, _ := syscall.BytePtrFromString(key)
		v, _ := syscall.BytePtrFromString(value)
		command, valuePtr := uintptr(fsconfigSetString), uintptr(unsafe.Pointer(v))
		if value == "" {
			command, valuePtr = fsconfigSetFlag, 0
		}
		if _, _, errno := syscall.Syscall6(sysFsconfig, fs, command, uintptr(unsafe.Pointer(k)), valuePtr, 0, 0); errno != 0 {
			return -1, errno
		}
	}
	if _, _, errno := syscall.Syscall6(sysFsconfig, fs, fsconfigCreate, 0, 0, 0, 0); errno != 0 {
		return -1, errno
	}
	fd, _, errno := syscall.Syscall(sysFsmount, fs, fsmountCloexec, attrNoSetuid|attrNoDevices*boolean(kind != "devpts"))
	return int(fd), errno
}

func boolean(b bool) uintptr {
	if b {
		return 1
	}
	return 0
}
