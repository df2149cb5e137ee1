// Functions whose lines are compiled for the GPU and, in lockstep, for the host.
#pragma once

#ifdef __CUDACC__
#define DURAHASH_ON_DEVICE __device__
// of the loop behind it
#define DURAHASH_UNROLLED _Pragma("unroll")
#define DURAHASH_ROLLED _Pragma("unroll 1")
#else
#define DURAHASH_ON_DEVICE
#define DURAHASH_UNROLLED
#define DURAHASH_ROLLED
#endif
