#include "media/line_log.hpp"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)

// Both are hidden: a call across libraries may pass code that changes registers on the first one.
extern "C" {

[[gnu::used, gnu::visibility("hidden")]] void durahash_flush_line_of_log(durahash::line_log& log,
                                                                         const void* at) noexcept {
  log.flush(at, 1);
}

/// Keeps the general registers that a call may change. Those who unwind the stack are told that the
/// caller's frame ends 128 bytes above the call, as it does everywhere else.
[[gnu::naked, gnu::cold, gnu::visibility("hidden")]] void durahash_flush_line_to() {
  asm(R"(
    .cfi_def_cfa_offset 8 + 128
    .cfi_offset rip, -8 - 128
    pushq %rbp
    .cfi_def_cfa_offset 16 + 128
    .cfi_offset rbp, -16 - 128
    movq %rsp, %rbp
    .cfi_def_cfa_register rbp
    andq $-16, %rsp
    pushq %rax
    pushq %rcx
    pushq %rdx
    pushq %rsi
    pushq %rdi
    pushq %r8
    pushq %r9
    pushq %r10
    pushq %r11
    subq $8, %rsp
    call durahash_flush_line_of_log
    addq $8, %rsp
    popq %r11
    popq %r10
    popq %r9
    popq %r8
    popq %rdi
    popq %rsi
    popq %rdx
    popq %rcx
    popq %rax
    leave
    .cfi_def_cfa rsp, 8 + 128
    ret)");
}
}

#endif
