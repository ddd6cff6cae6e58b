package cmds

type Hset struct{}

func (Builder) Hset() Hset { return Hset{} }

func (Hset) Key(key string) Hset            { return Hset{} }
func (Hset) FieldValue(pair ...string) Hset { return Hset{} }
func (Hset) Build() Completed               { return Completed{} }
