//! What a program without std and libc needs: an entry, the memory functions that compilers call,
//! output, and an end. For Linux on x86-64.
#![no_std]

pub mod workload;

use core::arch::{asm, global_asm};
use core::fmt::{self, Write};

// The entry, on an aligned stack; then the functions that LLVM emits calls to. Precompiled parts of
// the language's own libraries name an unwinder, which an abort never reaches.
global_asm!(
    ".globl _start",
    "_start:",
    "xor ebp, ebp",
    "and rsp, -16",
    "call {main}",
    "ud2",
    ".globl rust_eh_personality",
    "rust_eh_personality:",
    "ud2",
    ".globl memcpy",
    "memcpy:",
    "mov rax, rdi",
    "mov rcx, rdx",
    "rep movsb",
    "ret",
    ".globl memmove",
    "memmove:",
    "mov rax, rdi",
    "mov rcx, rdx",
    "mov r8, rdi",
    "sub r8, rsi",
    "cmp r8, rdx",
    "jb 2f",
    "rep movsb",
    "ret",
    // The target begins inside the source: from the end.
    "2:",
    "lea rdi, [rdi + rdx - 1]",
    "lea rsi, [rsi + rdx - 1]",
    "std",
    "rep movsb",
    "cld",
    "ret",
    ".globl memset",
    "memset:",
    "mov r8, rdi",
    "mov eax, esi",
    "mov rcx, rdx",
    "rep stosb",
    "mov rax, r8",
    "ret",
    ".globl memcmp",
    ".globl bcmp",
    "memcmp:",
    "bcmp:",
    "xor eax, eax",
    "mov rcx, rdx",
    "cmp rcx, rcx",
    "repe cmpsb",
    "je 3f",
    "movzx eax, byte ptr [rdi - 1]",
    "movzx ecx, byte ptr [rsi - 1]",
    "sub eax, ecx",
    "3:",
    "ret",
    main = sym run,
);

unsafe extern "Rust" {
    /// The program's own part.
    fn probe() -> fmt::Result;
}

extern "C" fn run() -> ! {
    // SAFETY: each program defines `probe` with this signature.
    let result = unsafe { probe() };
    exit(i32::from(result.is_err()))
}

/// Standard output.
pub struct Output;

impl Write for Output {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let written: isize;
            // SAFETY: write(1, ..) reads as many bytes as `rest` has.
            unsafe {
                asm!(
                    "syscall",
                    inlateout("rax") 1_isize => written,
                    in("rdi") 1, in("rsi") rest.as_ptr(), in("rdx") rest.len(),
                    lateout("rcx") _, lateout("r11") _,
                    options(nostack),
                );
            }
            let written = usize::try_from(written).map_err(|_| fmt::Error)?;
            rest = rest.get(written..).ok_or(fmt::Error)?;
        }
        Ok(())
    }
}

/// Ends the process.
pub fn exit(code: i32) -> ! {
    // SAFETY: exit_group does not come back.
    unsafe { asm!("syscall", in("rax") 231, in("rdi") code, options(noreturn, nostack)) }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    exit(101)
}
