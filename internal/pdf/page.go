package pdf

// A pageNode is a page and what it has from the nodes above it (7.7.3).
type pageNode struct {
	page      any // a reference mostly
	resources any
}

// walkPages collects the pages below a node of the page tree.
func (d *Document) walkPages(node, resources any, seen map[int]bool, depth int) {
	if depth > maxDepth {
		tooMuch("its page tree is deeper than %d levels", maxDepth)
	}
	if r, ok := node.(ref); ok {
		if seen[r.number] {
			return
		}
		seen[r.number] = true
	}
	n := d.dict(node)
	if n == nil {
		return
	}
	if n["Resources"] != nil {
		resources = n["Resources"]
	}
	kids := d.array(n["Kids"])
	if kids == nil || d.name(n["Type"]) == "Page" {
		if len(d.pages) >= maxPages {
			tooMuch("it has more than %d pages", maxPages)
		}
		d.pages = append(d.pages, pageNode{node, resources})
		return
	}
	for _, kid := range kids {
		d.walkPages(kid, resources, seen, depth+1)
	}
}
