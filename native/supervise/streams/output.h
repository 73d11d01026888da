#pragma once

#include <sys/types.h>
#include <uv.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/run/outcome.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/handle.h"
#include "supervise/streams/input.h"

namespace native_runner {

// Bytes that change owner without a copy: small ones from malloc, large ones in their own memory
// mapping, so that growing never copies and freeing returns the pages at once.
class Bytes {
 public:
  Bytes() = default;
  ~Bytes() { Free(); }
  Bytes(Bytes&& other) noexcept { Swap(other); }
  Bytes& operator=(Bytes&& other) noexcept;
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;

  std::uint8_t* data() { return data_; }
  const std::uint8_t* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool mapped() const { return mapped_; }

 private:
  friend class OutputBuffer;
  bool Reserve(std::size_t capacity);  // false: no memory; the content stays
  void Trim();
  void Free();
  void Swap(Bytes& other);

  std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  bool mapped_ = false;
};

// Holds the kept part of one stream, by a KeepRule. Usage: read(2) into Space(), then Commit().
// When nothing more can be kept (kHead and the limit is reached) Space() is empty and the caller
// only counts. Not thread-safe.
class OutputBuffer {
 public:
  explicit OutputBuffer(KeepRule rule) : rule_(rule) {}

  std::pair<std::uint8_t*, std::size_t> Space();
  void Commit(std::size_t count);
  void Skip(std::uint64_t count) { total_ += count; }  // seen, not kept

  std::uint64_t total() const { return total_; }
  // True once the limit is reached: further bytes only replace the tail, or are dropped.
  bool full() const { return bytes_.size() >= rule_.head + rule_.tail; }
  bool truncated() const { return total_ > rule_.head + rule_.tail; }

  // Returns the head, then the tail in order; the buffer is empty afterwards.
  Bytes Take();

 private:
  bool Grow();

  KeepRule rule_;
  Bytes bytes_;
  std::uint64_t total_ = 0;
  std::size_t tail_next_ = 0;  // where in the tail's ring the next byte goes, once it is full
};

enum class Stream { kStdout, kStderr };

// The destination of one output stream of a command: the result (Capture), or a reader while the
// command runs (LiveOutput). Supervisor thread only.
class Output {
 public:
  Output() = default;
  virtual ~Output() = default;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // `null_device` is a descriptor of /dev/null that outlives this object. A further call continues
  // with another source. Returns false if the source can't be watched.
  virtual bool Start(uv_loop_t* loop, Descriptor source, int null_device) = 0;

  // Takes the source's remaining data, without waiting, and closes it. For the end of a run, when
  // every writer is known to be gone or to be outside the run.
  virtual void Finish() = 0;

  // Appends our own text to the stream's data.
  virtual void Append(std::string_view text) = 0;

  virtual bool truncated() const = 0;
  virtual std::uint64_t total() const = 0;  // bytes
  virtual Bytes Take() = 0;                 // the kept part, for the result

  // Returns the first bytes of the stream, kept in any case: they contain bwrap's own error
  // messages.
  std::string_view opening() const { return {opening_.data(), opening_size_}; }

 protected:
  enum class Progress { kMore, kPause, kEmpty, kEnd };  // kPause: a short read, likely the last
  static Progress AfterFailure(ssize_t result);         // of read(2) or splice(2), with errno set

  static constexpr std::size_t kOpeningBytes = 512;
  void Remember(const std::uint8_t* data, std::size_t size);
  bool remembers_all() const { return opening_size_ == opening_.size(); }

 private:
  std::array<char, kOpeningBytes> opening_{};
  std::size_t opening_size_ = 0;
};

// The reading end of a command's stdout or stderr. Reads straight into the result. Once the limit
// is reached it splice(2)s further data to /dev/null, so that a flood costs neither memory nor
// copies and the writer is never blocked. Supervisor thread only.
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

  Descriptor pipe_;
  Poll poll_;  // after the descriptor, so that it stops before that is closed
  OutputBuffer buffer_;
  Chunk on_chunk_;
  int null_device_ = -1;
  bool widened_ = false;
};

// An output stream of a live process (a pipe's reading end, or a terminal's master side), passed on
// as it arrives. Reads only as much as the reader has granted, so an unread command blocks as it
// would on a pipe. Supervisor thread only.
class LiveOutput final : public Output {
 public:
  using Chunk = std::function<void(const std::uint8_t* data, std::size_t size)>;

  static constexpr std::uint64_t kWindowBytes = std::uint64_t{256} << 10U;
  static constexpr std::uint64_t kNoWindow = UINT64_MAX;

  // `window`: bytes that may be passed on before Grant is called, kNoWindow = any number. `sink`: a
  // pipe that outlives this, and gets the bytes instead of `on_chunk`, which then has only what is
  // left when the run ends; -1: none.
  LiveOutput(std::uint64_t window, Chunk on_chunk, int sink = -1)
      : window_(window), sink_(sink), on_chunk_(std::move(on_chunk)) {}

  bool Start(uv_loop_t* loop, Descriptor source, int null_device) override;
  // Passes on all remaining data, regardless of grants: a pipe holds 1 MiB at most.
  void Finish() override;
  void Append(std::string_view text) override;

  bool truncated() const override { return false; }
  std::uint64_t total() const override { return total_ + relay_.total(); }
  Bytes Take() override { return {}; }

  // The reader has consumed `bytes`; as many more may be passed on.
  void Grant(std::uint64_t bytes);
  // The reader is gone: the next write of the command fails (EPIPE, or EIO in a terminal).
  void Close();

 private:
  bool Watch();
  void OnRelayed(PipeRelay::End end);
  void Stop();
  void OnReadable();
  Progress Fill(std::size_t room);  // fills the piece with available data
  void HandOn();                    // passes the piece on

  uv_loop_t* loop_ = nullptr;
  Descriptor source_;
  Poll poll_;        // after the descriptor, so that it stops before that is closed
  PipeRelay relay_;  // to `sink_`
  std::vector<std::uint8_t> piece_;
  std::size_t filled_ = 0;
  std::uint64_t window_;
  int sink_;
  std::uint64_t total_ = 0;  // besides the relay's
  bool is_refused_ = false;  // the reader is gone
  Chunk on_chunk_;
};

}  // namespace native_runner
