#include "launcher/order/mapped_order.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <span>

#include "launcher/kernel/calls.h"

namespace native_runner {
namespace {

// An address, or -errno. MAP_POPULATE: one call instead of a page fault for each page.
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

// The file's bytes, or none and a refusal.
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

}  // namespace native_runner
