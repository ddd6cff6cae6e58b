package cmds

func (Arbitrary) Args(args ...string) Arbitrary { return Arbitrary{} }
