package command

import (
	"os"

	"golang.org/x/term"
)

// TerminalFile returns w if it is a terminal.
func TerminalFile(w any) (*os.File, bool) {
	f, ok := w.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// Sizes that are used where the terminal does not say its own, or says nonsense.
const (
	UsualWidth, UsualHeight = 80, 24
	leastWidth              = 20
)

// SizeOf returns a function that returns the size of a terminal.
func SizeOf(f *os.File) func() (width, height int) {
	return func() (int, int) {
		width, height, err := term.GetSize(int(f.Fd()))
		if err != nil || width <= 0 || height <= 0 {
			return UsualWidth, UsualHeight
		}
		return max(width, leastWidth), height
	}
}
