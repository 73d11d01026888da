#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "policy/run/outcome.h"

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

}  // namespace native_runner
