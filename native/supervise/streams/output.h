#pragma once

#include <uv.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "supervise/os/descriptor.h"
#include "supervise/streams/output_buffer.h"

namespace native_runner {

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

}  // namespace native_runner
