#include "launcher/order/order.h"

#include <sys/mman.h>
#include <sys/timerfd.h>

#include <cerrno>
#include <ctime>
#include <span>

#include "launcher/kernel/calls.h"

namespace native_runner {
namespace {

constexpr clockid_t kClock = CLOCK_BOOTTIME;

// Returns an address, or -errno. MAP_POPULATE: one call instead of a page fault for each page.
long Map(std::size_t size, int protection, int flags, int descriptor) {
  return kernel::Map(size, protection, flags | MAP_PRIVATE | MAP_POPULATE, descriptor);
}

bool IsError(long address) {
  return address < 0 && address >= -4095;
}

template <typename T>
T* Pointer(long address) {
  return reinterpret_cast<T*>(address);  // NOLINT(performance-no-int-to-ptr): from the kernel
}

// Returns the file's bytes, or none and a refusal.
std::span<const std::byte> MapFile(int descriptor, Refusal* refusal) {
  const long size = kernel::Size(descriptor);
  const long address =
      size <= 0 ? -EINVAL : Map(static_cast<std::size_t>(size), PROT_READ, 0, descriptor);
  kernel::Close(descriptor);
  if (!IsError(address)) return {Pointer<const std::byte>(address), static_cast<std::size_t>(size)};
  refusal->Because("cannot read the order", address);
  return {};
}

}  // namespace

bool MapOrder(const ReceivedOrder& received, MappedOrder* order, Refusal* refusal) {
  std::span<const std::byte> bytes(received.bytes, received.size);
  if (received.descriptor >= 0) {
    bytes = MapFile(received.descriptor, refusal);
    if (bytes.empty()) return false;
  }

  OrderView view;
  const char* wrong = DecodeOrder(bytes, &view);
  if (wrong != nullptr) {
    refusal->error = EINVAL;
    return refusal->Because(wrong);
  }

  const OrderHeader& header = view.header;
  const std::size_t count = std::size_t{header.argc} + header.envc + header.rulec + 3;
  const long table = Map((count + 1) * sizeof(char*), PROT_READ | PROT_WRITE, MAP_ANONYMOUS, -1);
  if (IsError(table)) return refusal->Because("cannot map the order", table);
  auto** const pointers = Pointer<char*>(table);
  OrderPointers(view, {pointers + 1, count});
  order->header = view.header;
  order->cwd = view.cwd;
  order->argv = pointers + 1;
  order->environment = order->argv + header.argc + 1;
  order->rules = order->environment + header.envc + 1;
  return true;
}

LeaseTimer::~LeaseTimer() {
  if (timer_ >= 0) kernel::Close(timer_);
}

bool LeaseTimer::Begin(const OrderHeader& order, Refusal* refusal) {
  if (order.lease_until_ns == kNoLease) return true;
  timer_ = kernel::OpenTimer(kClock, TFD_CLOEXEC | TFD_NONBLOCK);
  const long result = timer_ < 0 ? timer_ : Set(order.lease_until_ns);
  return result == 0 || refusal->Because("cannot keep the lease", result);
}

void LeaseTimer::Extend(std::uint64_t until_ns) {
  Set(until_ns);
}

// Reads the clock: a timer set to a past moment becomes readable only once the kernel has processed
// it.
bool LeaseTimer::HasEnded() const {
  return timer_ >= 0 && kernel::Now(kClock) >= until_ns_;
}

// A past moment makes the timer readable; 0 would disarm it.
long LeaseTimer::Set(std::uint64_t until_ns) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  until_ns_ = until_ns;
  if (until_ns == 0) until_ns = 1;
  itimerspec end{};
  end.it_value.tv_sec = static_cast<time_t>(until_ns / kSecond);
  end.it_value.tv_nsec = static_cast<long>(until_ns % kSecond);
  return kernel::SetTimer(timer_, TFD_TIMER_ABSTIME, &end);
}

}  // namespace native_runner
