#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string_view>

#include "supervise/os/descriptor.h"
#include "supervise/os/handle.h"
#include "supervise/streams/output.h"
#include "supervise/streams/output_buffer.h"

namespace native_runner {

// The reading end of a command's stdout or stderr. Reads straight into the result; once nothing
// more is kept, splice(2)s what comes to /dev/null, so that a flood costs neither memory nor copies
// and the writer is never blocked. Supervisor thread only.
class Capture final : public Output {
 public:
  // Called with each piece that is kept, in order, up to the stream's limit.
  using Chunk = std::function<void(const std::uint8_t* data, std::size_t size)>;

  Capture(KeepRule rule, Chunk on_chunk) : buffer_(rule), on_chunk_(std::move(on_chunk)) {}

  bool Start(uv_loop_t* loop, Descriptor pipe, int null_device) override;
  void Finish() override;
  void Append(std::string_view text) override;  // under the same limit

  bool truncated() const override { return buffer_.truncated(); }
  std::uint64_t total() const override { return buffer_.total(); }
  Bytes Take() override { return buffer_.Take(); }

 private:
  Progress ReadOnce();
  Progress DropOnce();
  void OnReadable();
  void Keep(const std::uint8_t* data, std::size_t size);
  void WidenPipe();

  Poll poll_;  // above the pipe: stopped before it is closed
  Descriptor pipe_;
  OutputBuffer buffer_;
  Chunk on_chunk_;
  int null_device_ = -1;
  bool widened_ = false;
};

}  // namespace native_runner
