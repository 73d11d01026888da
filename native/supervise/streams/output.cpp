#include "supervise/streams/output.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace native_runner {

Output::Progress Output::AfterFailure(ssize_t result) {
  if (result == 0) return Progress::kEnd;
  if (errno == EINTR) return Progress::kMore;
  return errno == EAGAIN ? Progress::kEmpty : Progress::kEnd;
}

void Output::Remember(const std::uint8_t* data, std::size_t size) {
  const std::size_t count = std::min(size, opening_.size() - opening_size_);
  if (count == 0) return;
  std::memcpy(opening_.data() + opening_size_, data, count);
  opening_size_ += count;
}

namespace {

constexpr int kWidePipe = 1 << 20;                            // the kernel's default ceiling
constexpr std::size_t kDefaultPipe = std::size_t{64} << 10U;  // pipe(7)
constexpr std::size_t kDropAtOnce = std::size_t{1} << 20U;
constexpr int kTurns = 16;  // reads per wake-up, so that one flood cannot starve other runs

}  // namespace

bool Capture::Start(uv_loop_t* loop, Descriptor pipe, int null_device) {
  poll_.Stop();  // of an earlier source
  pipe_ = std::move(pipe);
  null_device_ = null_device;
  return poll_.Start(loop, pipe_.get(), UV_READABLE, [this] { OnReadable(); }) == 0;
}

void Capture::OnReadable() {
  for (int turn = 0; turn < kTurns; ++turn) {
    const Progress progress = ReadOnce();
    if (progress == Progress::kEmpty || progress == Progress::kPause) return;
    if (progress == Progress::kEnd) {
      poll_.Stop();
      pipe_.Close();
      return;
    }
  }
}

void Capture::Finish() {
  poll_.Stop();
  if (!pipe_.valid()) return;
  // Bounded by the capacity of a pipe, in case a process outside the run still writes. Counted in
  // bytes: if little is kept at the end, each read is small.
  const std::uint64_t most = buffer_.total() + std::uint64_t{2} * kWidePipe;
  while (buffer_.total() < most) {
    const Progress progress = ReadOnce();
    if (progress == Progress::kEmpty || progress == Progress::kEnd) break;
  }
  pipe_.Close();
}

Output::Progress Capture::ReadOnce() {
  const auto [space, room] = buffer_.Space();
  if (room == 0) return DropOnce();
  const ssize_t got = read(pipe_.get(), space, room);
  if (got > 0) {
    const auto size = static_cast<std::size_t>(got);
    Keep(space, size);
    if (size >= kDefaultPipe && !widened_) WidenPipe();
    // Most often the pipe is empty now, and the poll reports new data. (A command may have put it
    // into packet mode, pipe(2) O_DIRECT, where each read is short.)
    return size < room && size < kDefaultPipe ? Progress::kPause : Progress::kMore;
  }
  return AfterFailure(got);
}

Output::Progress Capture::DropOnce() {
  if (!widened_) WidenPipe();
  if (!remembers_all()) {  // limit 0: keep set-up errors all the same
    std::array<std::uint8_t, kOpeningBytes> piece{};
    const ssize_t got = read(pipe_.get(), piece.data(), kOpeningBytes - opening().size());
    if (got <= 0) return AfterFailure(got);
    Remember(piece.data(), static_cast<std::size_t>(got));
    buffer_.Skip(static_cast<std::uint64_t>(got));
    return Progress::kMore;
  }
  const ssize_t moved = splice(pipe_.get(), nullptr, null_device_, nullptr, kDropAtOnce,
                               SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
  if (moved > 0) {
    buffer_.Skip(static_cast<std::uint64_t>(moved));
    return Progress::kMore;
  }
  return AfterFailure(moved);
}

void Capture::Keep(const std::uint8_t* data, std::size_t size) {
  Remember(data, size);
  if (on_chunk_ && !buffer_.full()) on_chunk_(data, size);
  buffer_.Commit(size);
}

void Capture::Append(std::string_view text) {
  while (!text.empty()) {
    const auto [space, room] = buffer_.Space();
    const std::size_t count = std::min(room, text.size());
    if (count == 0) {
      buffer_.Skip(text.size());
      return;
    }
    std::memcpy(space, text.data(), count);
    Keep(space, count);
    text.remove_prefix(count);
  }
}

void Capture::WidenPipe() {
  widened_ = true;
  // May be refused (pipe-user-pages-soft in pipe(7)); the pipe then keeps its size.
  static_cast<void>(fcntl(pipe_.get(), F_SETPIPE_SZ, kWidePipe));
}

namespace {

constexpr std::size_t kPieceBytes = std::size_t{64} << 10U;
constexpr std::uint64_t kMostLeft = std::uint64_t{2} << 20U;  // twice the capacity of a pipe

}  // namespace

bool LiveOutput::Start(uv_loop_t* loop, Descriptor source, int /*null_device*/) {
  poll_.Stop();  // of an earlier source
  relay_.Stop();
  if (is_refused_) return true;
  loop_ = loop;
  source_ = std::move(source);
  piece_.resize(kPieceBytes);
  if (sink_ < 0) return Watch();
  relay_.Start(loop_, source_.get(), sink_, [this](PipeRelay::End end) { OnRelayed(end); });
  return true;
}

void LiveOutput::OnRelayed(PipeRelay::End end) {
  if (end == PipeRelay::End::kSource) return Stop();
  if (end == PipeRelay::End::kSink) return Close();
  sink_ = -1;
  static_cast<void>(Watch());
}

bool LiveOutput::Watch() {
  return poll_.Start(loop_, source_.get(), UV_READABLE, [this] { OnReadable(); }) == 0;
}

void LiveOutput::OnReadable() {
  const std::size_t room = std::min<std::uint64_t>(window_, piece_.size());
  const Progress progress = Fill(room);
  if (window_ != kNoWindow) window_ -= filled_;
  HandOn();
  if (progress == Progress::kEnd) return Stop();
  // A hang-up would wake us repeatedly.
  if (window_ == 0) poll_.Stop();
}

// Collects several reads into one message: a terminal yields 4 KiB at a time, a pipe single writes.
Output::Progress LiveOutput::Fill(std::size_t room) {
  while (filled_ < room) {
    const ssize_t got = read(source_.get(), piece_.data() + filled_, room - filled_);
    if (got > 0) {
      filled_ += static_cast<std::size_t>(got);
      continue;
    }
    const Progress progress = AfterFailure(got);
    if (progress != Progress::kMore) return progress;
  }
  return Progress::kMore;
}

void LiveOutput::HandOn() {
  if (filled_ == 0) return;
  total_ += filled_;
  Remember(piece_.data(), filled_);
  on_chunk_(piece_.data(), std::exchange(filled_, 0));
}

void LiveOutput::Grant(std::uint64_t bytes) {
  if (window_ == kNoWindow) return;
  const bool was_paused = window_ == 0;
  window_ += std::min(bytes, kWindowBytes - std::min(window_, kWindowBytes));
  if (was_paused && window_ != 0 && source_.valid()) static_cast<void>(Watch());
}

void LiveOutput::Close() {
  is_refused_ = true;
  Stop();
}

void LiveOutput::Stop() {
  poll_.Stop();
  relay_.Stop();
  source_.Close();
}

void LiveOutput::Finish() {
  poll_.Stop();
  relay_.Stop();
  const std::uint64_t most = total_ + kMostLeft;  // in case a process outside the run still writes
  while (source_.valid() && total_ < most) {
    const Progress progress = Fill(piece_.size());
    HandOn();
    if (progress != Progress::kMore) break;
  }
  Stop();
}

void LiveOutput::Append(std::string_view text) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  total_ += text.size();
  Remember(bytes, text.size());
  on_chunk_(bytes, text.size());
}

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
