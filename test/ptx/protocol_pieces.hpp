// What the kernels do to words that others read meanwhile: PTX by hand, with the strengths and
// scopes that nvcc 13.0 gives the functions named here (src/gpu, sm_90). Behind an instruction that
// orders something stands the ordering's name. A line of src/gpu has one name, in whatever piece.
//
// Left out are arithmetic, other slots and levels, and loops. Who would wait ends. What it does
// when its turn has come is in the executions in which it looks later: to wait changes nothing that
// others see.
//
// $k is the key, $v a value, $t the thread's number, $n the bucket's; $b is behind the names of
// its words.
#pragma once

#include <string>

#include "test/ptx/litmus_rig.hpp"

namespace durahash::ptx::pieces {

struct of_what {
  unsigned key = 7, value = 0, bucket = 1;
};
inline std::string made_for(const std::string& text, const of_what& of) {
  std::string made = replaced(text, "$k", std::to_string(of.key));
  made = replaced(made, "$v", std::to_string(of.value));
  made = replaced(made, "$n", std::to_string(of.bucket));
  return replaced(made, "$b", of.bucket == 1 ? "" : std::to_string(of.bucket));
}

// ------------------------------------------------------------- turns and versions: cuda_side.cuh

/// try_take
inline const std::string take = R"(
ld.relaxed.gpu.b32 %r3, [turn$k];
and.b32 %r4, %r3, 1;
setp.ne.s32 %p2, %r4, 0;
@%p2 bra join;
or.b32 %r4, %r3, 1;
atom.cas.acquire.gpu.b32 %r5,[turn$k],%r3,%r4;  // take
setp.ne.s32 %p2, %r5, %r3;
@%p2 bra join;
)";
inline const std::string give = R"(
atom.and.release.gpu.b32 %r3,[turn$k],-2;  // give
)";
inline const std::string outdate = R"(
atom.add.release.gpu.u32 %r3,[turn$k],2;  // outdate
)";

// ------------------------------------------------------------------------ writes: operations.hpp

/// claim<true>, and claim<false> of a batch in two halves
inline const std::string claim = R"(
atom.cas.acquire.gpu.b64 %rd3,[state],0,1;  // claim
setp.ne.s64 %p2, %rd3, 0;
@%p2 bra join;
st.release.sys.b64 [value], $v;  // value
)";
inline const std::string claim_in_halves =
    replaced(claim, "st.release.sys.b64 [value], $v;  // value",
             "st.release.gpu.b64 [value], $v;  // value, in halves");
/// commit<true> and commit<false> of an insertion
inline const std::string insertion = outdate + R"(
st.release.sys.b64 [state], $k;  // fingerprint
)";
inline const std::string insertion_in_halves = outdate + R"(
st.release.gpu.b64 [state], $k;  // fingerprint, in halves
)";
/// commit of a removal, in halves or not
inline const std::string removal = R"(
st.relaxed.gpu.b64 [state], 1;
)" + outdate + R"(
st.release.gpu.b64 [state], 0;  // empty
)";
/// stage; commit<true> and commit<false> of an update
inline const std::string look = R"(
ld.relaxed.gpu.b64 %rd3, [state];
setp.ne.s64 %p2, %rd3, $k;
@%p2 bra join;
)";
inline const std::string update = R"(
st.release.sys.b64 [value], $v;  // update
)";
inline const std::string update_in_halves = R"(
st.release.gpu.b64 [value], $v;  // update, in halves
)";

// ------------------------------------------------------------------------- finds: operations.hpp

// What a find answers: 1 of a key that is not there, else the value. 0: it would look again.

inline const std::string if_still_the_version = R"(
shr.u32 %r3, %r3, 1;
shr.u32 %r4, %r4, 1;
setp.ne.s32 %p2, %r3, %r4;
@%p2 bra join;
st.relaxed.sys.b64 [result0], %rd4;
)";
/// find_hash
inline const std::string find = R"(
ld.acquire.gpu.b32 %r3, [turn$k];  // find: version
mov.u64 %rd4, 1;
ld.relaxed.gpu.b64 %rd3, [state];  // find: state
setp.ne.s64 %p2, %rd3, $k;
@%p2 bra looked$t;
ld.relaxed.gpu.b64 %rd4, [value];  // find: value
looked$t:
fence.acq_rel.gpu;  // find: fence
ld.relaxed.gpu.b32 %r4, [turn$k];
)" + if_still_the_version;
/// visits::of_bucket (visits.hpp)
inline const std::string visit = R"(
ld.relaxed.gpu.b64 %rd3, [state];  // visit: states
setp.ne.s64 %p2, %rd3, $k;
@%p2 bra join;
ld.acquire.gpu.b32 %r3, [turn$k];  // visit: version
ld.relaxed.gpu.b64 %rd3, [state];  // visit: states
setp.ne.s64 %p2, %rd3, $k;
@%p2 bra join;
ld.relaxed.gpu.b64 %rd4, [value];  // visit: value
fence.acq_rel.gpu;  // visit: fence
ld.relaxed.gpu.b32 %r4, [turn$k];
)" + if_still_the_version;
/// find_in_copies, where the bucket has none
inline const std::string find_beside_copies = R"(
ld.acquire.gpu.b32 %r3, [turn$k];  // copies: version
mov.u64 %rd4, 1;
ld.acquire.gpu.b64 %rd3, [state];  // copies: state in the table
setp.ne.s64 %p2, %rd3, $k;
@%p2 bra looked$t;
ld.acquire.gpu.b64 %rd4, [value];  // copies: value in the table
looked$t:
ld.relaxed.gpu.b32 %r4, [turn$k];
)" + if_still_the_version;
/// find_in_copies with copies_of::find and unchanged, where it has one
inline const std::string find_in_copies = R"(
ld.acquire.gpu.b32 %r3, [turn$k];  // copies: version
ld.acquire.gpu.b32 %r4, [copy_of$b];  // copies: copy_of
setp.eq.s32 %p2, %r4, 0;
@%p2 bra join;
ld.acquire.gpu.b32 %r5, [held];  // copies: the copy's version
and.b32 %r4, %r5, 1;
setp.ne.s32 %p2, %r4, 0;
@%p2 bra join;
ld.acquire.gpu.b32 %r4, [open];  // copies: open
setp.eq.s32 %p2, %r4, 0;
@%p2 bra join;
ld.relaxed.gpu.b64 %rd3, [bucket];
setp.ne.s64 %p2, %rd3, $n;
@%p2 bra join;
mov.u64 %rd4, 1;
ld.acquire.gpu.b64 %rd3, [copied state];  // copies: state
setp.ne.s64 %p2, %rd3, $k;
@%p2 bra looked$t;
ld.acquire.gpu.b64 %rd4, [copied value];  // copies: value
looked$t:
ld.relaxed.gpu.b32 %r4, [held];
setp.ne.s32 %p2, %r4, %r5;
@%p2 bra join;
ld.relaxed.gpu.b32 %r4, [turn$k];
)" + if_still_the_version;

// ---------------------------------------------------------- copies of buckets: bucket_copies.hpp

inline const std::string close = R"(
ld.relaxed.gpu.b32 %r7, [held];
and.b32 %r8, %r7, 1;
setp.ne.s32 %p2, %r8, 0;
@%p2 bra join;
add.u32 %r8, %r7, 1;
atom.cas.acquire.gpu.b32 %r9,[held],%r7,%r8;  // close
setp.ne.s32 %p2, %r9, %r7;
@%p2 bra join;
)";
inline const std::string release = R"(
atom.add.release.gpu.u32 %r9,[held],1;  // release
)";
/// hold, in a write of key $k: %r6 is the copy, or 0
inline const std::string hold = R"(
ld.relaxed.gpu.b32 %r6, [copy_of];
setp.eq.s32 %p2, %r6, 0;
@%p2 bra holds$k$t;
)" + close + R"(
ld.relaxed.gpu.b64 %rd3, [bucket];
setp.eq.s64 %p2, %rd3, 1;
@%p2 bra holds$k$t;
)" + release + R"(
mov.u32 %r6, 0;
holds$k$t:
)";
/// store, with what is stored in the copy
inline std::string stored(const std::string& in_the_table, const std::string& in_the_copy) {
  return hold + in_the_table + "setp.eq.s32 %p2, %r6, 0;\n@%p2 bra told$k$t;\n" + in_the_copy +
         release + "told$k$t:\n";
}
inline const std::string insertion_with_copy = stored(insertion, R"(
st.release.gpu.b64 [copied value], $v;  // copy: value
st.release.gpu.b64 [copied state], $k;  // copy: word
)");
inline const std::string removal_with_copy = stored(removal, R"(
st.release.gpu.b64 [copied state], 0;  // copy: word
)");
inline const std::string update_with_copy = stored(update, R"(
st.release.gpu.b64 [copied value], $v;  // copy: word
)");

// a load, of the copy that is there
inline const std::string retire = close + R"(
st.relaxed.gpu.b32 [open], 0;
st.relaxed.gpu.b32 [copy_of$b], 0;
)" + release;
inline const std::string name = close + R"(
st.relaxed.gpu.b64 [bucket], $n;
)" + release + R"(
st.release.gpu.b32 [copy_of$b], 1;  // name: copy_of
)";
inline const std::string fill = close + R"(
ld.relaxed.gpu.b64 %rd3, [state$b];
st.release.gpu.b64 [copied state], %rd3;  // fill: words
ld.relaxed.gpu.b64 %rd3, [value$b];
st.release.gpu.b64 [copied value], %rd3;  // fill: words
st.release.gpu.b32 [open], 1;  // fill: open
)" + release;

// ---------------------------------------------------------------------- what is staged: staged.hpp

/// staged_index::add, of the first change
inline const std::string add_change = R"(
st.relaxed.gpu.b64 [hash], $k;
atom.cas.release.gpu.b32 %r3,[change number],0,1;  // index: number
)";
/// staged_index::find: whether the first change is the key's
inline const std::string find_change = R"(
ld.acquire.gpu.b32 %r3, [change number];  // index: look
setp.eq.s32 %p2, %r3, 0;
@%p2 bra join;
ld.relaxed.gpu.b64 %rd3, [hash];
setp.ne.s64 %p2, %rd3, $k;
@%p2 bra join;
st.relaxed.sys.b64 [result0], 1;
)";

// ------------------------------------------------------------------------ lanes: cuda_warp.cuh

// one and one_does: the first lane works between two barriers.
inline const std::string before_one = "bar.warp.sync -1;  // one: before\n",
                         behind_one = "bar.warp.sync -1;  // one: behind\n";

/// try_write of an update that adds 1, the first lane and another one, which has looked for the
/// key. Tells the sum.
inline const std::string add_first_lane = before_one + R"(
mov.u32 %r6, 0;
ld.relaxed.gpu.b32 %r3, [turn$k];
and.b32 %r4, %r3, 1;
setp.ne.s32 %p2, %r4, 0;
@%p2 bra tried$t;
or.b32 %r4, %r3, 1;
atom.cas.acquire.gpu.b32 %r5,[turn$k],%r3,%r4;  // take
setp.eq.s32 %p2, %r5, %r3;
selp.u32 %r6, 1, 0, %p2;
tried$t:
)" + behind_one + R"(
shfl.sync.idx.b32 %r7|%p3, %r6, 0, 31, -1;
setp.eq.s32 %p2, %r7, 0;
@%p2 bra join;
shfl.sync.idx.b32 %r8|%p3, %r8, 1, 31, -1;
cvt.u64.u32 %rd3, %r8;
add.s64 %rd3, %rd3, 1;
)" + before_one + R"(
st.release.sys.b64 [value], %rd3;  // update
)" + give + behind_one + R"(
st.relaxed.sys.b64 [result$v], %rd3;
)";
inline const std::string add_other_lane = before_one + behind_one + R"(
shfl.sync.idx.b32 %r7|%p3, %r7, 0, 31, -1;
setp.eq.s32 %p2, %r7, 0;
@%p2 bra join;
ld.relaxed.gpu.b64 %rd3, [value];
cvt.u32.u64 %r8, %rd3;
shfl.sync.idx.b32 %r8|%p3, %r8, 1, 31, -1;
)" + before_one + behind_one;
/// batch_run::stage: the change is plain memory
inline const std::string stage_first_lane = replaced(
    add_first_lane, "st.release.sys.b64 [value], %rd3;  // update", "st.b64 [value], %rd3;");
inline const std::string stage_other_lane =
    replaced(add_other_lane, "ld.relaxed.gpu.b64", "ld.b64");

/// find_in_copies, where the bucket has none: the first lane and that of the slot
inline const std::string find_first_lane = before_one + R"(
ld.acquire.gpu.b32 %r3, [turn$k];  // copies: version
)" + behind_one + before_one + R"(
ld.relaxed.gpu.b32 %r4, [turn$k];
)" + behind_one + R"(
shr.u32 %r3, %r3, 1;
shr.u32 %r4, %r4, 1;
setp.ne.s32 %p2, %r3, %r4;
@%p2 bra join;
st.relaxed.sys.b64 [result1], 1;
)";
inline const std::string find_other_lane = before_one + behind_one + R"(
mov.u64 %rd4, 1;
ld.acquire.gpu.b64 %rd3, [state];  // copies: state in the table
setp.ne.s64 %p2, %rd3, $k;
@%p2 bra looked$t;
ld.acquire.gpu.b64 %rd4, [value];  // copies: value in the table
looked$t:
)" + before_one + behind_one + R"(
st.relaxed.sys.b64 [result0], %rd4;
)";

/// fill: the first lane and that of the slot's value
inline const std::string fill_first_lane = before_one + close + behind_one + R"(
ld.relaxed.gpu.b64 %rd3, [state$b];
st.release.gpu.b64 [copied state], %rd3;  // fill: words
)" + before_one + R"(
st.release.gpu.b32 [open], 1;  // fill: open
)" + release + behind_one;
inline const std::string fill_other_lane = before_one + behind_one + R"(
ld.relaxed.gpu.b64 %rd3, [value$b];
st.release.gpu.b64 [copied value], %rd3;  // fill: words
)" + before_one + behind_one;

// ------------------------------------------------------------------------------ what is around

// Of the host: its orderings are no kernel's.
inline const std::string around = "around";

/// A kernel is done, and another one begins: between them the host has waited.
inline const std::string done = R"(
st.release.sys.b64 [done], 1;  // around
)";
inline const std::string if_done = R"(
ld.acquire.sys.b64 %rd3, [done];  // around
setp.eq.s64 %p2, %rd3, 0;
@%p2 bra join;
)";
/// What a kill leaves, for who reads it in one order or the other.
inline const std::string state_left = R"(
ld.acquire.sys.b64 %rd3, [state];  // around
st.relaxed.sys.b64 [result0], %rd3;
)";
inline const std::string value_left = R"(
ld.acquire.sys.b64 %rd3, [value];  // around
st.relaxed.sys.b64 [result1], %rd3;
)";

}  // namespace durahash::ptx::pieces
