// Package bench measures the built binary, and the parts whose speed was
// promised, with Go's own benchmarks:
//
//	go test -bench . -benchtime 5x ./bench
//
// Nothing here fails for being slow: machines are shared and noisy. The figures
// are metrics of each benchmark; a bar stands in its comment. Ratios are taken
// within one run.
package bench
