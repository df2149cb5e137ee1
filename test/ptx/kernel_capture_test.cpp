// CUDA graphs: a stream that is being captured is refused, by every call, and the capture stays
// valid; one in another stream is not in the way.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <functional>

#include "durahash/gpu_memory.hpp"
#include "durahash/gpu_table.hpp"
#include "test/ptx/load.hpp"
#include "test/store/scratch.hpp"

namespace durahash::ptx {
namespace {

constexpr std::size_t n = 64;

/// A stream that is being captured, if it is.
class captured_stream {
 public:
  explicit captured_stream(unsigned flags) { cudaStreamCreateWithFlags(&stream_, flags); }
  ~captured_stream() { cudaStreamDestroy(stream_); }
  captured_stream(const captured_stream&) = delete;
  operator gpu::stream() const { return stream_; }
  void begin(cudaStreamCaptureMode mode) {
    ASSERT_EQ(cudaStreamBeginCapture(stream_, mode), cudaSuccess);
  }
  /// Nothing has spoilt it, and nothing is in it.
  void expect_empty_graph() {
    cudaGraph_t made = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(stream_, &made), cudaSuccess) << "the capture was spoilt";
    EXPECT_EQ(reinterpret_cast<std::size_t>(made), 1u) << "something was recorded";
  }

 private:
  cudaStream_t stream_ = nullptr;
};

class PtxCaptures : public testing::TestWithParam<gpu::table_place> {
 protected:
  void SetUp() override {
    device& d = device::the_one();
    ASSERT_TRUE(load_once(d)) << why_not_loaded();
    d.forget_memory();
    d.restart({.seed = 5});
    auto made = gpu::map::open(folder_.file("pool"), {}, {.place = GetParam()});
    ASSERT_TRUE(made) << made.failure().message;
    map_ = std::make_unique<gpu::map>(std::move(*made));
    keys_ = static_cast<std::uint64_t*>(gpu::allocate_shared(n * 8));
    values_ = static_cast<std::uint64_t*>(gpu::allocate_shared(n * 8));
    answers_ = static_cast<status*>(gpu::allocate_shared(n));
    for (std::size_t i = 0; i < n; ++i) keys_[i] = values_[i] = i;
  }
  bool stages() const { return GetParam() != gpu::table_place::pool; }
  /// Every call that names a stream.
  std::vector<std::pair<const char*, std::function<status()>>> calls(gpu::stream on) {
    gpu::map& m = *map_;
    return {{"find", [&m, this, on] { return m.find_async(n, keys_, values_, answers_, on); }},
            {"put", [&m, this, on] { return m.put_async(n, keys_, values_, answers_, on); }},
            {"insert", [&m, this, on] { return m.insert_async(n, keys_, values_, answers_, on); }},
            {"update", [&m, this, on] { return m.update_async(n, keys_, values_, answers_, on); }},
            {"erase", [&m, this, on] { return m.erase_async(n, keys_, answers_, on); }},
            {"add", [&m, this, on] { return m.add_async(n, keys_, values_, answers_, on); }},
            {"find_or_insert",
             [&m, this, on] { return m.find_or_insert_async(n, keys_, values_, answers_, on); }},
            {"put, which waits", [&m, this, on] { return m.put(n, keys_, values_, answers_, on); }},
            {"add, which waits", [&m, this, on] { return m.add(n, keys_, values_, answers_, on); }},
            {"commit", [&m, on] { return m.commit(on); }},
            {"erase_if", [&m, on] { return m.erase_if({}, nullptr, on); }},
            {"clear", [&m, on] { return m.clear(on); }},
            {"export_batch", [&m, this, on] {
               gpu::map::export_cursor at;
               std::size_t exported = 0;
               return m.export_batch(at, n, keys_, values_, exported, on);
             }}};
  }
  void expect_all_there(std::size_t count) {
    ASSERT_EQ(map_->find_async(count, keys_, nullptr, answers_), status::ok);
    ASSERT_EQ(map_->commit(), status::ok);
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(answers_[i], status::ok) << "key " << i;
  }

  test::scratch_folder folder_;
  std::unique_ptr<gpu::map> map_;
  std::uint64_t *keys_ = nullptr, *values_ = nullptr;
  status* answers_ = nullptr;
};
INSTANTIATE_TEST_SUITE_P(, PtxCaptures,
                         testing::Values(gpu::table_place::pool, gpu::table_place::device_mirror),
                         [](const auto& each) {
                           return each.param == gpu::table_place::pool ? "pool" : "mirror";
                         });

TEST_P(PtxCaptures, ACapturedStreamIsRefusedAndNothingIsLost) {
  ASSERT_EQ(map_->put(n, keys_, values_, answers_), status::ok);
  captured_stream stream(cudaStreamNonBlocking);
  stream.begin(cudaStreamCaptureModeGlobal);
  std::fill_n(answers_, n, status::damaged);
  for (auto& [name, call] : calls(stream)) EXPECT_EQ(call(), status::invalid_argument) << name;
  for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(answers_[i], status::damaged);
  std::string why;
  EXPECT_EQ(map_->commit(stream, &why), status::invalid_argument);
  EXPECT_NE(why.find("graph"), std::string::npos) << why;
  stream.expect_empty_graph();
  expect_all_there(n);
  EXPECT_EQ(map_->put(n, keys_, values_, answers_, stream), status::ok) << "when it is over";
  EXPECT_EQ(map_->size(), n);
}

/// In no mode is a capture elsewhere in the way, nor spoilt: not by growth or by a close.
TEST_P(PtxCaptures, ACaptureInAnotherStreamGoesOn) {
  for (auto mode : {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal,
                    cudaStreamCaptureModeRelaxed}) {
    captured_stream stream(cudaStreamNonBlocking);
    stream.begin(mode);
    std::uint64_t before = map_->info().slots;
    for (std::size_t first = 0; map_->info().slots == before; first += n) {
      for (std::size_t i = 0; i < n; ++i) keys_[i] = first + i;
      ASSERT_EQ(map_->put(n, keys_, values_, answers_), status::ok);
    }
    expect_all_there(n);
    EXPECT_EQ(map_->reserve(2 * map_->info().slots), status::ok);
    EXPECT_TRUE(map_->check().ok);
    EXPECT_EQ(map_->clear(), status::ok);
    EXPECT_EQ(map_->compact(), status::ok);
    EXPECT_EQ(map_->size(), 0u);
    stream.expect_empty_graph();
  }
  captured_stream stream(cudaStreamNonBlocking);
  stream.begin(cudaStreamCaptureModeGlobal);
  EXPECT_EQ(map_->close(), status::ok);
  gpu::free_shared(gpu::allocate_shared(64));
  stream.expect_empty_graph();
}

/// The default stream waits for blocking ones, so that it would be a part of the capture.
TEST_P(PtxCaptures, TheDefaultStreamIsRefusedBesideACapturedStreamThatBlocksIt) {
  captured_stream stream(cudaStreamDefault);
  ASSERT_EQ(map_->put(n, keys_, values_, answers_), status::ok);
  stream.begin(cudaStreamCaptureModeRelaxed);
  for (auto& [name, call] : calls(nullptr)) EXPECT_EQ(call(), status::invalid_argument) << name;
  EXPECT_EQ(map_->size(), n) << "no stream is named";
  EXPECT_EQ(map_->reserve(1000), status::ok);
  stream.expect_empty_graph();
  expect_all_there(n);
}

/// Writes wait for a commit, and their stream is captured: they are not lost.
TEST_P(PtxCaptures, WhatWasStagedBeforeACaptureIsCommitted) {
  if (!stages()) GTEST_SKIP() << "nothing is staged";
  captured_stream stream(cudaStreamNonBlocking);
  ASSERT_EQ(map_->reserve(1000), status::ok);
  ASSERT_EQ(map_->put_async(n, keys_, values_, answers_, stream), status::ok);
  stream.begin(cudaStreamCaptureModeGlobal);
  EXPECT_EQ(map_->commit(stream), status::invalid_argument);
  EXPECT_EQ(map_->size(), n) << "which commits";
  stream.expect_empty_graph();
  expect_all_there(n);
}

TEST(PtxCapturesOfRows, AreRefused) {
  device& d = device::the_one();
  ASSERT_TRUE(load_once(d)) << why_not_loaded();
  d.forget_memory();
  d.restart({.seed = 5});
  test::scratch_folder folder;
  auto t = gpu::table::open(folder.file("a"), {}, {.place = gpu::table_place::device_mirror});
  ASSERT_TRUE(t) << t.failure().message;
  auto* keys = static_cast<std::uint64_t*>(gpu::allocate_shared(64));
  auto* answers = reinterpret_cast<status*>(keys + 4);
  keys[0] = 7, keys[1] = 8, keys[2] = 0;
  ASSERT_EQ(t->put(1, keys, keys + 1, 8, answers), status::ok);
  captured_stream stream(cudaStreamNonBlocking), blocking(cudaStreamDefault);
  stream.begin(cudaStreamCaptureModeGlobal);
  blocking.begin(cudaStreamCaptureModeGlobal);
  for (gpu::stream on : {gpu::stream(stream), gpu::stream(blocking), gpu::stream(nullptr)}) {
    EXPECT_EQ(t->find_async(1, keys, keys + 2, 8, answers, on), status::invalid_argument);
    EXPECT_EQ(t->wait(on), status::invalid_argument);
  }
  keys[1] = 9;
  EXPECT_EQ(t->update(1, keys, keys + 1, 8, answers), status::ok) << "no stream is named";
  stream.expect_empty_graph();
  blocking.expect_empty_graph();
  ASSERT_EQ(t->find_async(1, keys, keys + 2, 8, answers), status::ok);
  ASSERT_EQ(t->wait(), status::ok);
  EXPECT_EQ(keys[2], 9u);
}

}  // namespace
}  // namespace durahash::ptx
