# The CUDA backend: DURAHASH_HAS_CUDA says whether it is built, durahash_cuda_compiler how.
set(DURAHASH_HAS_CUDA OFF)
if(NOT DURAHASH_CUDA)
  return()
endif()
include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  message(STATUS "CUDA: no compiler (nvcc) found; the CUDA backend is left out. Install the CUDA toolkit or set CUDACXX to nvcc.")
  return()
endif()
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES "80;90;100")
endif()
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know it
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
add_library(durahash_cuda_compiler INTERFACE)
target_compile_options(durahash_cuda_compiler INTERFACE
  --expt-relaxed-constexpr  # arithmetic is constexpr, and the same on host and device
  $<$<BOOL:${DURAHASH_WERROR}>:--Werror=all-warnings>
  -Xcompiler=-Wall,-Wextra$<$<BOOL:${DURAHASH_WERROR}>:,-Werror>,-march=${DURAHASH_MARCH})
set(DURAHASH_HAS_CUDA ON)
