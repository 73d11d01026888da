#include "supervise/streams/output_buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace native_runner {
namespace {

constexpr std::size_t kFirst = std::size_t{16} << 10U;
constexpr std::size_t kLargestSmall = std::size_t{64} << 10U;
constexpr std::size_t kHugePage = std::size_t{2} << 20U;

void* MapAnonymous(std::size_t size) {
  void* mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return mapped == MAP_FAILED ? nullptr : mapped;
}

}  // namespace

Bytes& Bytes::operator=(Bytes&& other) noexcept {
  if (this != &other) {
    Free();
    Swap(other);
  }
  return *this;
}

void Bytes::Swap(Bytes& other) {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(capacity_, other.capacity_);
  std::swap(mapped_, other.mapped_);
}

void Bytes::Free() {
  if (mapped_) {
    munmap(data_, capacity_);
  } else {
    std::free(data_);
  }
  data_ = nullptr;
  size_ = capacity_ = 0;
  mapped_ = false;
}

bool Bytes::Reserve(std::size_t capacity) {
  if (capacity <= capacity_) return true;
  if (capacity <= kLargestSmall) {
    void* grown = std::realloc(data_, capacity);
    if (grown == nullptr) return false;
    data_ = static_cast<std::uint8_t*>(grown);
    capacity_ = capacity;
    return true;
  }
  void* grown = nullptr;
  if (mapped_) {
    grown = mremap(data_, capacity_, capacity, MREMAP_MAYMOVE);
    if (grown == MAP_FAILED) return false;
  } else {
    grown = MapAnonymous(capacity);
    if (grown == nullptr) return false;
    if (size_ > 0) std::memcpy(grown, data_, size_);
    std::free(data_);
    mapped_ = true;
  }
  if (capacity >= 2 * kHugePage) madvise(grown, capacity, MADV_HUGEPAGE);  // only a hint
  data_ = static_cast<std::uint8_t*>(grown);
  capacity_ = capacity;
  return true;
}

void Bytes::Trim() {
  if (!mapped_ || size_ == 0 || size_ == capacity_) return;
  void* trimmed = mremap(data_, capacity_, size_, 0);
  if (trimmed != MAP_FAILED) capacity_ = size_;
}

bool OutputBuffer::Grow() {
  const std::uint64_t limit = rule_.head + rule_.tail;
  const std::size_t wanted = std::max(kFirst, bytes_.capacity_ * 4);
  const auto capacity = static_cast<std::size_t>(std::min<std::uint64_t>(wanted, limit));
  return bytes_.Reserve(capacity);
}

std::pair<std::uint8_t*, std::size_t> OutputBuffer::Space() {
  const std::uint64_t limit = rule_.head + rule_.tail;
  if (bytes_.size_ < limit) {
    // When memory is out, further bytes are counted but not kept, and the result is marked
    // "truncated".
    if (bytes_.size_ == bytes_.capacity_ && !Grow()) rule_ = {bytes_.size_, 0};
    return {bytes_.data_ + bytes_.size_, bytes_.capacity_ - bytes_.size_};
  }
  if (rule_.tail == 0) return {nullptr, 0};
  const auto tail = static_cast<std::size_t>(rule_.tail);
  return {bytes_.data_ + static_cast<std::size_t>(rule_.head) + tail_next_, tail - tail_next_};
}

void OutputBuffer::Commit(std::size_t count) {
  total_ += count;
  if (bytes_.size_ < rule_.head + rule_.tail) {
    bytes_.size_ += count;
  } else {
    tail_next_ = (tail_next_ + count) % static_cast<std::size_t>(rule_.tail);
  }
}

Bytes OutputBuffer::Take() {
  if (tail_next_ != 0) {
    std::uint8_t* tail = bytes_.data_ + static_cast<std::size_t>(rule_.head);
    std::rotate(tail, tail + tail_next_, bytes_.data_ + bytes_.size_);
    tail_next_ = 0;
  }
  bytes_.Trim();
  return std::move(bytes_);
}

}  // namespace native_runner
