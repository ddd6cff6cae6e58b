#include "textflag.h"

// func intercept()
TEXT ·intercept(SB), NOSPLIT, $0-0
	MOVQ runtime·vdsoClockgettimeSym(SB), AX
	TESTQ AX, AX
	JZ   none
	MOVQ AX, kernel<>(SB)
	LEAQ stepped<>(SB), AX
	MOVQ AX, runtime·vdsoClockgettimeSym(SB)
none:
	RET

// int stepped(clockid_t clock, struct timespec *ts), by the ABI of C
TEXT stepped<>(SB), NOSPLIT|NOFRAME, $0
	PUSHQ DI
	PUSHQ SI
	SUBQ  $8, SP
	MOVQ  kernel<>(SB), AX
	CALL  AX
	ADDQ  $8, SP
	POPQ  SI
	POPQ  DI
	TESTL DI, DI // CLOCK_REALTIME
	JNZ   done
	MOVQ  ·wallStep(SB), CX
	ADDQ  CX, 0(SI)
done:
	RET

GLOBL kernel<>(SB), NOPTR, $8
