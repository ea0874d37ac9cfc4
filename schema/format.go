package schema

import (
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// isFormat reports whether a text has a format. Drafts up to 7 check formats, later
// ones only note them (validation, section 7, of 2020-12). Formats that are not here
// are taken as fitting.
func isFormat(format, s string) bool {
	parses := func(layouts ...string) bool {
		for _, layout := range layouts {
			if _, err := time.Parse(layout, strings.ToUpper(s)); err == nil {
				return true
			}
		}
		return false
	}
	switch format {
	case "date-time":
		return parses(time.RFC3339Nano)
	case "date":
		return parses(time.DateOnly)
	case "time":
		return parses("15:04:05.999999999Z07:00")
	case "email":
		at := strings.LastIndexByte(s, '@')
		return at > 0 && at < len(s)-1 && !strings.ContainsAny(s[at:], " \t\r\n")
	case "ipv4":
		a, err := netip.ParseAddr(s)
		return err == nil && a.Is4()
	case "ipv6":
		a, err := netip.ParseAddr(s)
		return err == nil && a.Is6() && a.Zone() == ""
	case "uri":
		u, err := url.Parse(s)
		return err == nil && u.IsAbs()
	case "uuid":
		hex := strings.ReplaceAll(s, "-", "")
		return len(s) == 36 && len(hex) == 32 && s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-' &&
			strings.Trim(hex, "0123456789abcdefABCDEF") == ""
	}
	return true
}
