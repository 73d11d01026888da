#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "supervise/os/descriptor.h"
#include "supervise/os/handle.h"
#include "supervise/streams/output.h"

namespace native_runner {

// An output stream of a live process (a pipe's reading end, or a terminal's master side), handed on
// as it comes. No more is read ahead than the reader has granted, so a command that nobody reads
// from is held up as it would be by a pipe. Supervisor thread only.
class LiveOutput final : public Output {
 public:
  using Chunk = std::function<void(const std::uint8_t* data, std::size_t size)>;

  static constexpr std::uint64_t kWindowBytes = std::uint64_t{256} << 10U;
  static constexpr std::uint64_t kNoWindow = UINT64_MAX;

  // `window`: bytes that may be handed on before Grant is called, kNoWindow = any number.
  LiveOutput(std::uint64_t window, Chunk on_chunk)
      : window_(window), on_chunk_(std::move(on_chunk)) {}

  bool Start(uv_loop_t* loop, Descriptor source, int null_device) override;
  // Hands on all that is left, whatever was granted: a pipe holds 1 MiB at most.
  void Finish() override;
  void Append(std::string_view text) override;

  bool truncated() const override { return false; }
  std::uint64_t total() const override { return total_; }
  Bytes Take() override { return {}; }

  // The reader has taken `bytes`; as many more may be handed on.
  void Grant(std::uint64_t bytes);
  // Nobody reads any more: the next write of the command fails (EPIPE, or EIO in a terminal).
  void Close();

 private:
  bool Watch();
  void Stop();
  void OnReadable();
  Progress Fill(std::size_t room);  // the piece with what is there
  void HandOn();                    // the piece

  uv_loop_t* loop_ = nullptr;
  Poll poll_;  // above the source: stopped before it is closed
  Descriptor source_;
  std::vector<std::uint8_t> piece_;
  std::size_t filled_ = 0;
  std::uint64_t window_;
  std::uint64_t total_ = 0;
  bool is_refused_ = false;  // nobody reads any more
  Chunk on_chunk_;
};

}  // namespace native_runner
