#!/usr/bin/env bash
# Installs a finished build into a folder of its own, builds examples/embed against what was installed, and runs it: a run, a run that is
# killed, and a run that must find the pages of both.      install_test.sh SOURCE_FOLDER BUILD_FOLDER SCRATCH_FOLDER CXX_COMPILER
set -euo pipefail
source=$1 build=$2 scratch=$3 compiler=$4

fail() {
  echo "install_test: $*" >&2
  exit 1
}

rm -rf "$scratch"
mkdir -p "$scratch/data"
cmake --install "$build" --prefix "$scratch/prefix" >"$scratch/install.log" || fail "cmake --install failed"
# Away from the source tree, so that nothing but what was installed can be found.
cp -r "$source/examples/embed" "$scratch/embed"
cmake -S "$scratch/embed" -B "$scratch/embed-build" -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON -DCMAKE_BUILD_TYPE=Release >"$scratch/configure.log" 2>&1 || { cat "$scratch/configure.log"; fail "find_package failed"; }
cmake --build "$scratch/embed-build" || fail "examples/embed does not build"

embed=$scratch/embed-build/embed
"$embed" "$scratch/data" | tee "$scratch/run1.txt"
grep -qx 'run 1' "$scratch/run1.txt" || fail "the first run is not run 1"

killed=0
"$embed" "$scratch/data" --die >"$scratch/run2.txt" 2>&1 || killed=$?
cat "$scratch/run2.txt"
[ "$killed" -eq 137 ] || fail "the second run was to end by SIGKILL (137) and ended with $killed"

"$embed" "$scratch/data" | tee "$scratch/run3.txt"
grep -qx 'run 3' "$scratch/run3.txt" || fail "the third run does not count the two before it"
grep -qx '  found: the words of run 2' "$scratch/run3.txt" || fail "what the killed run wrote is gone"

# The installed demo cuts the power of a disk, by what is installed for it; where /var/tmp is on no disk it says so.
mkdir "$scratch/tree"
for n in $(seq 300); do echo "$n" >"$scratch/tree/$n"; done
"$scratch/prefix/bin/durahash" demo --dir "$scratch/tree" --seconds 4 --seed 1 >"$scratch/demo.txt" || { cat "$scratch/demo.txt"; fail "the installed demo fails"; }
grep -E 'durability power_buffered: no write waits|/var/tmp is not on a disk' "$scratch/demo.txt" ||
  { cat "$scratch/demo.txt"; fail "the installed demo shows no power cuts"; }

# A kernel of one's own, where there is a compiler for it.
nvcc=$(command -v "${CUDACXX:-nvcc}" || echo /usr/local/cuda/bin/nvcc)
if [ -x "$nvcc" ]; then
  mkdir -p "$scratch/kernel/test/gpu"
  cp "$source"/test/gpu/ref_kernel.* "$scratch/kernel/test/gpu"
  "$nvcc" -std=c++20 --expt-relaxed-constexpr --Werror=all-warnings -arch=sm_90 -I"$scratch/kernel" -I"$scratch/prefix/include" \
    -I"$scratch/prefix/include/durahash/device" -c "$scratch/kernel/test/gpu/ref_kernel.cu" -o "$scratch/kernel/ref_kernel.o" ||
    fail "a kernel does not compile with what was installed"
else
  echo "install_test: no nvcc here, no kernel compiled"
fi

# With the component cuda, which alone needs the CUDA toolkit, the same program may use a GPU.
cat >>"$scratch/embed/CMakeLists.txt" <<'CMAKE'
find_package(durahash REQUIRED COMPONENTS cuda)
target_link_libraries(embed PRIVATE durahash::cuda)
CMAKE
cuda_configured=true
cmake -S "$scratch/embed" -B "$scratch/cuda-build" -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCMAKE_CXX_COMPILER="$compiler" \
  >"$scratch/cuda.log" 2>&1 || cuda_configured=false
if compgen -G "$scratch/prefix/lib*/libdurahash_cuda.*" >/dev/null || compgen -G "$scratch/prefix/lib/*/libdurahash_cuda.*" >/dev/null; then
  $cuda_configured || { cat "$scratch/cuda.log"; fail "the component cuda is not found"; }
  cmake --build "$scratch/cuda-build" || fail "a program with the CUDA backend does not link"
  nm "$scratch/cuda-build/embed" | grep ' [RDB] durahash_cuda_backend' >/dev/null || fail "the CUDA backend is not in the program"
  nm "$embed" | grep ' [RDB] durahash_cuda_backend' && fail "the CUDA backend is in a program that did not ask for it"
else
  ! $cuda_configured || fail "the component cuda is found, and was not built"
fi

# The version file refuses a version that is not this one.
if cmake -S "$scratch/embed" -B "$scratch/too-new" -DCMAKE_PREFIX_PATH="$scratch/prefix" \
    -DCMAKE_PROJECT_INCLUDE="$source/test/install/require_newer.cmake" >"$scratch/too-new.log" 2>&1; then
  fail "find_package accepted version 99"
fi
grep -q 'version' "$scratch/too-new.log" || fail "the refusal of version 99 does not speak of a version"
echo "install_test: the installed package works"
