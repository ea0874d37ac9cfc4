package external

import "os"

func lockFile(*os.File) error { return nil }
