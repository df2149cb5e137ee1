// Functions whose lines are compiled for the GPU and, in lockstep, for the host.
#pragma once

#ifdef __CUDACC__
#define DURAHASH_ON_DEVICE __device__
#else
#define DURAHASH_ON_DEVICE
#endif
