#pragma once

#include <sys/types.h>
#include <uv.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "supervise/os/descriptor.h"
#include "supervise/os/handle.h"
#include "supervise/streams/output_buffer.h"

namespace native_runner {

enum class Stream { kStdout, kStderr };

// Where one output stream of a command goes: into the result (Capture), or on to who reads it while
// it comes (LiveOutput). Supervisor thread only.
class Output {
 public:
  Output() = default;
  virtual ~Output() = default;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // `null_device` is a descriptor of /dev/null that outlives this object. Called again, it goes on
  // with another source. False: the source can't be watched.
  virtual bool Start(uv_loop_t* loop, Descriptor source, int null_device) = 0;

  // Takes what the source still holds, without waiting, and closes it. For the end of a run, when
  // every writer is known to be gone or is no business of ours.
  virtual void Finish() = 0;

  // Adds a text of ours behind what the stream held.
  virtual void Append(std::string_view text) = 0;

  virtual bool truncated() const = 0;
  virtual std::uint64_t total() const = 0;  // bytes
  virtual Bytes Take() = 0;                 // what was kept for the result

  // The first bytes of the stream, whatever is kept of it: bwrap's own complaint is there.
  std::string_view opening() const { return {opening_.data(), opening_size_}; }

 protected:
  enum class Progress { kMore, kPause, kEmpty, kEnd };  // kPause: a short read, likely the last
  static Progress AfterFailure(ssize_t result);         // of read(2) or splice(2), which left errno

  static constexpr std::size_t kOpeningBytes = 512;
  void Remember(const std::uint8_t* data, std::size_t size);
  bool remembers_all() const { return opening_size_ == opening_.size(); }

 private:
  std::array<char, kOpeningBytes> opening_{};
  std::size_t opening_size_ = 0;
};

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
