#include "textflag.h"

// func forkInit(calls *systemCall) (pid int)
TEXT ·forkInit(SB),NOSPLIT,$0-16
	MOVD	calls+0(FP), R19
	MOVD	$0x111, R0 // CLONE_VM | SIGCHLD
	MOVD	ZR, R1
	MOVD	ZR, R2
	MOVD	ZR, R3
	MOVD	ZR, R4
	MOVD	$220, R8 // clone
	SVC
	CBZ	R0, child
	MOVD	R0, pid+8(FP)
	RET

child:
	MOVD	0(R19), R8
	MOVD	8(R19), R0
	MOVD	16(R19), R1
	MOVD	24(R19), R2
	MOVD	32(R19), R3
	MOVD	40(R19), R4
	SVC
	MOVD	R0, 48(R19)
	MOVD	56(R19), R5
	ADD	R5, R19
	JMP	child
