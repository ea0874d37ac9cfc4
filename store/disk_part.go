package store

import "pawl/run"

// part is [run.Part] on disk.
type part struct {
	Type      run.PartType `json:"type"`
	Text      string       `json:"text,omitempty"`
	Cut       bool         `json:"cut,omitempty"`
	Signature string       `json:"signature,omitempty"`
	Wire      string       `json:"wire,omitempty"`
	Raw       string       `json:"raw,omitempty"`
	Call      *call        `json:"call,omitempty"`
	Result    *result      `json:"result,omitempty"`
	Image     *image       `json:"image,omitempty"`
}

type call struct {
	ID         run.CallID `json:"id"`
	ProviderID string     `json:"provider_id,omitempty"`
	Tool       string     `json:"tool,omitempty"`
	Arguments  string     `json:"arguments,omitempty"`
	Fault      run.Fault  `json:"fault,omitempty"`
	Raw        string     `json:"raw,omitempty"`
}

type result struct {
	Call    run.CallID `json:"call"`
	Content []part     `json:"content,omitempty"`
	IsError bool       `json:"is_error,omitempty"`

	Delivery string `json:"delivery,omitempty"`
}

type image struct {
	MediaType string `json:"media_type,omitempty"`
	Data      []byte `json:"data,omitempty"`
}

func partForms(parts []run.Part) []part {
	if len(parts) == 0 {
		return nil
	}
	forms := make([]part, len(parts))
	for i, p := range parts {
		forms[i] = part{
			Type: p.Type, Text: p.Text, Cut: p.Cut, Signature: p.Signature, Wire: p.Wire, Raw: p.Raw,
			Call: (*call)(p.Call), Image: (*image)(p.Image),
		}
		if r := p.Result; r != nil {
			forms[i].Result = &result{r.Call, partForms(r.Content), r.IsError, r.Delivery}
		}
	}
	return forms
}

func runParts(forms []part) []run.Part {
	if len(forms) == 0 {
		return nil
	}
	parts := make([]run.Part, len(forms))
	for i, f := range forms {
		parts[i] = run.Part{
			Type: f.Type, Text: f.Text, Cut: f.Cut, Signature: f.Signature, Wire: f.Wire, Raw: f.Raw,
			Call: (*run.Call)(f.Call), Image: (*run.Image)(f.Image),
		}
		if r := f.Result; r != nil {
			parts[i].Result = &run.Result{Call: r.Call, Content: runParts(r.Content), IsError: r.IsError, Delivery: r.Delivery}
		}
	}
	return parts
}
