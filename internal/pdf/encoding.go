package pdf

import (
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// An encoding is what the codes of a font of single bytes mean; 0 is nothing.
type encoding [256]rune

// The encodings of Annex D. WinAnsi and MacRoman are those of Windows and the
// Macintosh, with what few codes differ there left as they are.
var baseEncodings = sync.OnceValue(func() map[name]*encoding {
	win, mac := fromCharmap(charmap.Windows1252), fromCharmap(charmap.Macintosh)
	standard := &encoding{}
	for c := rune(0x20); c < 0x7f; c++ {
		standard[c] = c
	}
	standard['\''], standard['`'] = '’', '‘'
	standard.fill(0xa1, "¡¢£⁄¥ƒ§¤'“«‹›ﬁﬂ")
	standard.fill(0xb1, "–†‡·\x00¶•‚„”»…‰\x00¿\x00`´ˆ˜¯˘˙¨\x00˚¸\x00˝˛ˇ—")
	standard[0xe1], standard[0xe3] = 'Æ', 'ª'
	standard.fill(0xe8, "ŁØŒº")
	standard[0xf1], standard[0xf5] = 'æ', 'ı'
	standard.fill(0xf8, "łøœß")
	symbol := &encoding{}
	symbol.fill(0x20, " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼")
	symbol.fill(0xa0, "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑")
	symbol[0xf1], symbol[0xf2] = '〉', '∫'
	return map[name]*encoding{"WinAnsiEncoding": win, "MacRomanEncoding": mac, "StandardEncoding": standard, "Symbol": symbol}
})

func fromCharmap(m *charmap.Charmap) *encoding {
	e := &encoding{}
	for c := 0x20; c < 0x100; c++ {
		if r := m.DecodeByte(byte(c)); r != utf8.RuneError {
			e[c] = r
		}
	}
	return e
}

// fill sets codes that follow one another.
func (e *encoding) fill(from int, chars string) {
	for _, r := range chars {
		e[from] = r
		from++
	}
}

// glyphChars returns the characters of a glyph's name, by the rules of the Adobe
// Glyph List Specification (github.com/adobe-type-tools/agl-specification,
// section 2): up to the first dot, parts joined by underscores, names from a list,
// uni… and u….
func glyphChars(glyph name) (string, bool) {
	base, _, _ := strings.Cut(string(glyph), ".")
	if base == "" || len(base) > 200 {
		return "", false
	}
	var b strings.Builder
	for part := range strings.SplitSeq(base, "_") {
		s, ok := glyphPart(part)
		if !ok {
			return "", false
		}
		b.WriteString(s)
	}
	return b.String(), true
}

func glyphPart(part string) (string, bool) {
	if len(part) == 1 && (part[0]|0x20 >= 'a' && part[0]|0x20 <= 'z') {
		return part, true
	}
	if r, ok := glyphNames()[part]; ok {
		return string(r), true
	}
	digits, ok := strings.CutPrefix(part, "uni")
	if ok && len(digits) >= 4 && len(digits)%4 == 0 {
		var s []rune
		for ; digits != ""; digits = digits[4:] {
			r, err := strconv.ParseUint(digits[:4], 16, 32)
			if err != nil {
				return "", false
			}
			s = append(s, rune(r))
		}
		return string(s), true
	}
	if digits, ok = strings.CutPrefix(part, "u"); ok && len(digits) >= 4 && len(digits) <= 6 {
		if r, err := strconv.ParseUint(digits, 16, 32); err == nil && r <= utf8.MaxRune {
			return string(rune(r)), true
		}
	}
	return "", false
}

// glyphNames are the names that fonts for Latin, Greek and mathematics use: those
// of Annex D, of the Symbol font and of TeX's, from the Adobe Glyph List. Letters
// with marks are made of the mark's name. (The whole list has 4,281 names; the
// others are met in fonts that say by ToUnicode what they mean.)
var glyphNames = sync.OnceValue(func() map[string]rune {
	m := map[string]rune{"space": ' ', "nbspace": ' ', "nonbreakingspace": ' '}
	for pair := range strings.FieldsSeq(glyphList) {
		r, size := utf8.DecodeRuneInString(pair)
		m[pair[size:]] = r
	}
	for mark, pairs := range map[string]string{
		"acute":        "AÁEÉIÍOÓUÚYÝaáeéiíoóuúyýCĆcćNŃnńSŚsśZŹzźLĹlĺRŔrŕ",
		"grave":        "AÀEÈIÌOÒUÙaàeèiìoòuù",
		"circumflex":   "AÂEÊIÎOÔUÛaâeêiîoôuûCĈcĉGĜgĝHĤhĥJĴjĵSŜsŝWŴwŵYŶyŷ",
		"dieresis":     "AÄEËIÏOÖUÜYŸaäeëiïoöuüyÿ",
		"tilde":        "AÃNÑOÕaãnñoõIĨiĩUŨuũ",
		"ring":         "AÅaåUŮuů",
		"caron":        "SŠsšZŽzžCČcčDĎdďEĚeěNŇnňRŘrřTŤtťLĽlľ",
		"cedilla":      "CÇcçSŞsşTŢtţ",
		"commaaccent":  "GĢgģKĶkķLĻlļNŅnņRŖrŗTŢtţSȘsș",
		"ogonek":       "AĄaąEĘeęIĮiįUŲuų",
		"macron":       "AĀaāEĒeēIĪiīOŌoōUŪuū",
		"breve":        "AĂaăGĞgğUŬuŭ",
		"dotaccent":    "EĖeėIİZŻzżCĊcċGĠgġ",
		"hungarumlaut": "OŐoőUŰuű",
		"slash":        "OØoøLŁlł",
		"croat":        "DĐdđ",
	} {
		runes := []rune(pairs)
		for i := 0; i+1 < len(runes); i += 2 {
			m[string(runes[i])+mark] = runes[i+1]
		}
	}
	return m
})

const glyphList = `!exclam "quotedbl #numbersign $dollar %percent &ampersand 'quotesingle (parenleft )parenright
*asterisk +plus ,comma -hyphen -hyphenminus ` + "\u00adsfthyphen \u00adsofthyphen" + ` .period /slash 0zero 1one 2two 3three 4four 5five 6six 7seven
8eight 9nine :colon ;semicolon <less =equal >greater ?question @at [bracketleft \backslash ]bracketright
^asciicircum _underscore ` + "`" + `grave {braceleft |bar }braceright ~asciitilde ¡exclamdown ¢cent £sterling
¤currency ¥yen ¦brokenbar §section ¨dieresis ©copyright ªordfeminine «guillemotleft ¬logicalnot
®registered ¯macron ¯overscore °degree ±plusminus ²twosuperior ³threesuperior ´acute µmu µmu1 ¶paragraph ·periodcentered ·middot
¸cedilla ¹onesuperior ºordmasculine »guillemotright ¼onequarter ½onehalf ¾threequarters ¿questiondown
ÆAE æae ÐEth ðeth ÞThorn þthorn ßgermandbls ĦHbar ħhbar ıdotlessi ȷdotlessj ŊEng ŋeng ŒOE œoe ƒflorin
ˆcircumflex ˇcaron ˘breve ˙dotaccent ˚ring ˛ogonek ˜tilde ˝hungarumlaut –endash —emdash ―afii00208 ‘quoteleft
’quoteright ‚quotesinglbase “quotedblleft ”quotedblright „quotedblbase †dagger ‡daggerdbl •bullet
…ellipsis ‰perthousand ‹guilsinglleft ›guilsinglright ⁄fraction €Euro ™trademark −minus ﬀff ﬁfi ﬂfl ﬃffi ﬄffl
ΑAlpha ΒBeta ΓGamma ΔDelta ΕEpsilon ΖZeta ΗEta ΘTheta ΙIota ΚKappa ΛLambda ΜMu ΝNu ΞXi ΟOmicron ΠPi ΡRho
ΣSigma ΤTau ΥUpsilon ΦPhi ΧChi ΨPsi ΩOmega Ωohm αalpha βbeta γgamma δdelta εepsilon ζzeta ηeta θtheta ιiota
κkappa λlambda νnu ξxi οomicron πpi ρrho ςsigma1 σsigma τtau υupsilon φphi χchi ψpsi ωomega ϑtheta1 ϕphi1 ϖomega1
ϒUpsilon1 ∀universal ∃existential ∋suchthat ∗asteriskmath ≅congruent ∴therefore ⊥perpendicular ∼similar
′minute ″second ≤lessequal ≥greaterequal ∞infinity ♣club ♦diamond ♥heart ♠spade ↔arrowboth ←arrowleft ↑arrowup
→arrowright ↓arrowdown ×multiply ∝proportional ∂partialdiff ÷divide ≠notequal ≡equivalence ≈approxequal
ℵaleph ℑIfraktur ℜRfraktur ℘weierstrass ⊗circlemultiply ⊕circleplus ∅emptyset ∩intersection ∪union
⊃propersuperset ⊇reflexsuperset ⊄notsubset ⊂propersubset ⊆reflexsubset ∈element ∉notelement ∠angle ∇gradient
∏product √radical ⋅dotmath ∧logicaland ∨logicalor ⇔arrowdblboth ⇐arrowdblleft ⇑arrowdblup ⇒arrowdblright
⇓arrowdbldown ◊lozenge 〈angleleft 〉angleright ∑summation ∫integral №afii61352 ≪lessmuch ≫greatermuch ∓minusplus
∘openbullet ℓlscript ∥bardbl ⟨langle ⟩rangle`
