package cmds

type Psubscribe struct{}

type PsubscribePattern struct{}

func (Psubscribe) Pattern(pattern ...string) PsubscribePattern { return PsubscribePattern{} }
func (PsubscribePattern) Build() Completed                     { return Completed{} }

func (Builder) Psubscribe() Psubscribe { return Psubscribe{} }
