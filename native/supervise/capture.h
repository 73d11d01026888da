#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>

#include "supervise/descriptor.h"
#include "supervise/handle.h"
#include "supervise/output_buffer.h"

namespace native_runner {

// The reading end of a command's stdout or stderr. Reads straight into the result; once nothing
// more is kept, splice(2)s what comes to /dev/null, so that a flood costs neither memory nor copies
// and the writer is never blocked. Supervisor thread only.
class Capture {
 public:
  // Called with each piece that is kept, in order, up to the stream's limit.
  using Chunk = std::function<void(const std::uint8_t* data, std::size_t size)>;

  Capture(KeepRule rule, Chunk on_chunk) : buffer_(rule), on_chunk_(std::move(on_chunk)) {}

  // `null_device` is a descriptor of /dev/null that outlives this object.
  bool Start(uv_loop_t* loop, Descriptor pipe, int null_device);

  // Takes what the pipe still holds, without waiting, and closes it. For the end of a run, when
  // every writer is known to be gone or is no business of ours.
  void Finish();

  // Adds a text of ours behind what the stream held, under the same limit.
  void Append(std::string_view text);

  bool truncated() const { return buffer_.truncated(); }
  std::uint64_t total() const { return buffer_.total(); }
  Bytes Take() { return buffer_.Take(); }

  // The first bytes of the stream, kept whatever the limit is: bwrap's own complaint is there.
  std::string_view opening() const { return {opening_.data(), opening_size_}; }

 private:
  enum class Progress { kMore, kPause, kEmpty, kEnd };  // kPause: a short read, likely the last
  static Progress AfterFailure(ssize_t result);         // of read(2) or splice(2), which left errno
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
  std::array<char, 512> opening_{};
  std::size_t opening_size_ = 0;
};

}  // namespace native_runner
