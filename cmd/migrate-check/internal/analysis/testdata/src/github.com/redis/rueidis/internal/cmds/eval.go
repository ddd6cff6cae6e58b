package cmds

type Eval struct{}

type EvalScript struct{}

type EvalNumkeys struct{}

type EvalKey struct{}

type EvalArg struct{}

func (Eval) Script(script string) EvalScript         { return EvalScript{} }
func (EvalScript) Numkeys(numkeys int64) EvalNumkeys { return EvalNumkeys{} }
func (EvalNumkeys) Key(key ...string) EvalKey        { return EvalKey{} }
func (EvalNumkeys) Arg(arg ...string) EvalArg        { return EvalArg{} }
func (EvalKey) Key(key ...string) EvalKey            { return EvalKey{} }
func (EvalKey) Arg(arg ...string) EvalArg            { return EvalArg{} }
func (EvalKey) Build() Completed                     { return Completed{} }
func (EvalArg) Arg(arg ...string) EvalArg            { return EvalArg{} }
func (EvalArg) Build() Completed                     { return Completed{} }

type ScriptLoad struct{}

type ScriptLoadScript struct{}

func (ScriptLoad) Script(script string) ScriptLoadScript { return ScriptLoadScript{} }
func (ScriptLoadScript) Build() Completed                { return Completed{} }

func (Builder) Eval() Eval             { return Eval{} }
func (Builder) ScriptLoad() ScriptLoad { return ScriptLoad{} }
