// Streams and marks of programs that have none of CUDA's headers: durahash/gpu_stream.hpp.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "durahash/gpu_memory.hpp"
#include "durahash/gpu_stream.hpp"
#include "test/ptx/load.hpp"
#include "test/store/scratch.hpp"

namespace durahash::ptx {
namespace {

constexpr std::size_t batch = 200;

class PtxStreams : public testing::Test {
 protected:
  void SetUp() override {
    device& d = device::the_one();
    ASSERT_TRUE(load_once(d)) << why_not_loaded();
    d.forget_memory();
    d.restart({.seed = 5});
    auto made = gpu::map::open(folder_.file("pool"), {}, {.place = gpu::table_place::pool});
    ASSERT_TRUE(made) << made.failure().message;
    map_ = std::make_unique<gpu::map>(std::move(*made));
    ASSERT_EQ(map_->reserve(10 * batch), status::ok);
    keys_ = static_cast<std::uint64_t*>(gpu::allocate_shared(batch * 8));
    answers_ = static_cast<status*>(gpu::allocate_shared(batch));
    for (std::size_t i = 0; i < batch; ++i) keys_[i] = i;
    stream_ = gpu::make_stream(0);
    ASSERT_NE(stream_, nullptr);
  }
  void TearDown() override {
    map_.reset();
    gpu::free_stream(0, stream_);
    gpu::free_shared(keys_);
    gpu::free_shared(answers_);
  }
  void put() { ASSERT_EQ(map_->put_async(batch, keys_, keys_, answers_, stream_), status::ok); }

  test::scratch_folder folder_;
  std::unique_ptr<gpu::map> map_;
  std::uint64_t* keys_ = nullptr;
  status* answers_ = nullptr;
  gpu::stream stream_ = nullptr;
};

TEST_F(PtxStreams, AMarkIsReachedWhenWhatWasAskedBeforeIsDone) {
  put();
  auto mark = gpu::mark::set(0, stream_);
  ASSERT_TRUE(mark) << mark.failure().message;
  EXPECT_FALSE(mark->is_reached()) << "the kernel has done a few instructions at most";
  EXPECT_EQ(mark->wait().code, status::ok);
  EXPECT_TRUE(mark->is_reached());
  for (std::size_t i = 0; i < batch; ++i) ASSERT_EQ(answers_[i], status::ok);
}

TEST_F(PtxStreams, AMarkOfAnIdleStreamIsReachedAtOnce) {
  put();
  EXPECT_EQ(gpu::wait_for_stream(0, stream_).code, status::ok);
  for (std::size_t i = 0; i < batch; ++i) ASSERT_EQ(answers_[i], status::ok);
  auto mark = gpu::mark::set(0, stream_);
  ASSERT_TRUE(mark);
  EXPECT_EQ(mark->wait().code, status::ok);
  EXPECT_TRUE(mark->is_reached());
}

/// A load of copies fills them when all writes are done that may not know of them (B3). One whose
/// kernel was launched and had no event yet was missed.
TEST_F(PtxStreams, WhoWaitsForAllKernelsMissesNoneThatHasJustBegun) {
  auto made = gpu::map::open(folder_.file("copies"), {}, {.cache_percent = 50});
  ASSERT_TRUE(made) << made.failure().message;
  ASSERT_EQ(made->reserve(10 * batch), status::ok);
  device& d = device::the_one();
  std::atomic<bool> launched{false};
  bool done = false;
  std::thread beside([&] {
    launched.wait(false);
    made->cache();  // waits for all kernels, as a load does
    const std::scoped_lock hold(d.lock);
    done = d.idle(stream_);
  });
  d.before_a_record = [&] {
    launched = true;
    launched.notify_one();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  };
  ASSERT_EQ(made->put_async(batch, keys_, keys_, answers_, stream_), status::ok);
  beside.join();
  EXPECT_TRUE(done) << "it did not wait for the kernel";
}

TEST_F(PtxStreams, ACapturedStreamIsRefusedAndItsCaptureStaysValid) {
  auto* captured = static_cast<cudaStream_t>(stream_);
  EXPECT_FALSE(gpu::is_captured(0, stream_));
  ASSERT_EQ(cudaStreamBeginCapture(captured, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_TRUE(gpu::is_captured(0, stream_));
  EXPECT_EQ(gpu::wait_for_stream(0, stream_).code, status::invalid_argument);
  auto mark = gpu::mark::set(0, stream_);
  ASSERT_FALSE(mark);
  EXPECT_EQ(mark.failure().code, status::invalid_argument);
  EXPECT_NE(mark.failure().message.find("captured"), std::string::npos);
  auto beside = gpu::mark::set(0, nullptr);  // of another stream, while one is captured
  ASSERT_TRUE(beside);
  EXPECT_EQ(beside->wait().code, status::ok);
  EXPECT_TRUE(beside->is_reached());
  cudaGraph_t made = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(captured, &made), cudaSuccess) << "the capture was spoilt";
  EXPECT_EQ(reinterpret_cast<std::size_t>(made), 1u) << "something was recorded";
}

TEST_F(PtxStreams, MemoryIsReachedByItsFirstAndItsLastByte) {
  std::vector<std::uint64_t> pageable(batch);
  EXPECT_TRUE(gpu::is_reached(0, keys_, batch * 8));
  EXPECT_FALSE(gpu::is_reached(0, keys_, batch * 8 + 1)) << "a byte more than was allocated";
  EXPECT_FALSE(gpu::is_reached(0, pageable.data(), batch * 8));
  EXPECT_FALSE(gpu::is_reached(0, nullptr, 8));
  EXPECT_TRUE(gpu::is_reached(0, nullptr, 0));
}

TEST_F(PtxStreams, OfNoDeviceThereIsNone) {
  EXPECT_EQ(gpu::make_stream(7), nullptr);
  EXPECT_EQ(gpu::wait_for_stream(7, nullptr).code, status::unusable);
  EXPECT_FALSE(gpu::is_captured(7, nullptr));
  EXPECT_FALSE(gpu::is_reached(7, keys_, 8));
  EXPECT_FALSE(gpu::mark::set(7, nullptr));
}

TEST_F(PtxStreams, OfAFailedDeviceAMarkIsReachedAndWaitingTellsWhy) {
  auto* keys_gone = static_cast<std::uint64_t*>(gpu::allocate_shared(batch * 8));
  ASSERT_EQ(map_->find_async(batch, keys_gone, nullptr, answers_, stream_), status::ok);
  auto mark = gpu::mark::set(0, stream_);
  ASSERT_TRUE(mark);
  device::the_one().pieces.remove(reinterpret_cast<std::uint64_t>(keys_gone), false);
  const error waited = mark->wait();
  EXPECT_EQ(waited.code, status::io_error);
  EXPECT_NE(waited.message, "");
  EXPECT_TRUE(mark->is_reached()) << "it never will be, and nobody may wait for that";
  std::free(keys_gone);
}

TEST_F(PtxStreams, InAChildAMarkIsReachedAndLeavesTheDeviceAlone) {
  put();
  auto mark = gpu::mark::set(0, stream_);
  ASSERT_TRUE(mark);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(mark->is_reached() && mark->wait().code == status::ok ? 0 : 1);
  int how = 0;
  ASSERT_EQ(::waitpid(child, &how, 0), child);
  EXPECT_TRUE(WIFEXITED(how) && WEXITSTATUS(how) == 0) << how;
  EXPECT_FALSE(mark->is_reached());
  EXPECT_EQ(mark->wait().code, status::ok);
}

}  // namespace
}  // namespace durahash::ptx
