#include "textflag.h"

// func forkInit(calls *systemCall) (pid int)
TEXT ·forkInit(SB),NOSPLIT,$0-16
	MOVQ	calls+0(FP), R12
	MOVQ	$0x111, DI // CLONE_VM | SIGCHLD
	XORQ	SI, SI
	XORQ	DX, DX
	XORQ	R10, R10
	XORQ	R8, R8
	MOVQ	$56, AX // clone
	SYSCALL
	TESTQ	AX, AX
	JZ	child
	MOVQ	AX, pid+8(FP)
	RET

child:
	MOVQ	0(R12), AX
	MOVQ	8(R12), DI
	MOVQ	16(R12), SI
	MOVQ	24(R12), DX
	MOVQ	32(R12), R10
	MOVQ	40(R12), R8
	SYSCALL
	MOVQ	AX, 48(R12)
	ADDQ	56(R12), R12
	JMP	child
