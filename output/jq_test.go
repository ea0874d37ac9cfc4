package output

import (
	"os"
	"os/exec"
	"testing"
)

// BenchmarkJQ asks jq what BenchmarkFile asks us, for comparison.
func BenchmarkJQ(b *testing.B) {
	jq, err := exec.LookPath("jq")
	if err != nil {
		b.Skip("needs jq to compare with")
	}
	for _, q := range []struct{ name, filter string }{
		{"stats", `[.. | type] | group_by(.) | map({(.[0]): length}) | add`},
		{"count", `.items | length`},
		{"count filter", `[.items[] | select(.active)] | length`},
		{"extract first", `.items[3].email`},
		{"extract filter", `[.items[] | select(.score > 99.99) | .email]`},
		{"sample", `.items as $i | [range(0; 10) | $i[. * 997 % ($i | length)]]`},
		{"search", `[.. | strings | select(test("fjord\\.7.*org"))] | length`},
		{"aggregate", `.items | group_by(.address.city) | map({city: .[0].address.city, avg: (map(.score) | add / length)})`},
	} {
		b.Run(q.name, func(b *testing.B) {
			name, size := openBench(b)
			measure(b, size, true)
			for b.Loop() {
				c := exec.Command(jq, "-c", q.filter, name)
				c.Stderr = os.Stderr
				if err := c.Run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
