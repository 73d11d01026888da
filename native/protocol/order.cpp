#include "protocol/order.h"

#include <cstring>
#include <type_traits>

// Decoding only. The launcher links this file without order_encode.cpp, so nothing here may
// allocate.

namespace native_runner {

static_assert(std::is_trivially_copyable_v<OrderHeader>);
static_assert(sizeof(OrderHeader) == 7 * sizeof(std::uint32_t) + 2 * sizeof(std::uint16_t) +
                                         13 * sizeof(std::uint64_t),
              "padding would make the layout depend on the compiler");

namespace {

// Counts the NULs in `text`, up to `enough`.
std::uint64_t CountNuls(const char* text, std::size_t size, std::uint64_t enough) {
  std::uint64_t count = 0;
  const char* const end = text + size;
  while (text != end && count < enough) {
    const void* nul = std::memchr(text, '\0', static_cast<std::size_t>(end - text));
    if (nul == nullptr) break;
    ++count;
    text = static_cast<const char*>(nul) + 1;
  }
  return count;
}

const char* CheckHeader(const OrderHeader& header, std::size_t size) {
  if (header.magic != kOrderMagic) return "the order has a wrong magic number";
  if (header.version != kOrderVersion) return "the order has another version than the launcher";
  if ((header.flags & ~kOrderKnownFlags) != 0) return "the order has unknown flags";
  const bool has_terminal = (header.flags & kOrderTerminal) != 0;
  if (has_terminal && (header.flags & kOrderOwnSession) == 0) {
    return "the order has a terminal without a session";
  }
  if (has_terminal && (header.flags & kOrderMergeStderr) != 0) {
    return "the order merges the streams of a terminal";
  }
  if (has_terminal != (header.terminal_columns != 0) ||
      has_terminal != (header.terminal_rows != 0)) {
    return "the order has a terminal without a size, or a size without a terminal";
  }
  const std::uint32_t steps = header.flags & (kOrderNamespaces | kOrderTemplate);
  if (steps != 0 && header.flags != kOrderNamespaces && header.flags != kOrderTemplate) {
    return "the order has steps and a command's flags";
  }
  const bool runs_command = steps == 0 && (header.flags & kOrderSession) == 0;
  if (header.lease_until_ns != kNoLease && !runs_command)
    return "the order has a lease and no command of its own";
  if (header.argc == 0) return "the order has no command";
  if (header.text_bytes != size - sizeof(OrderHeader)) return "the order has a wrong length";
  return nullptr;
}

}  // namespace

const char* DecodeOrder(std::span<const std::byte> bytes, OrderView* view) {
  OrderHeader header;
  if (bytes.size() < sizeof header) return "the order is shorter than its header";
  std::memcpy(&header, bytes.data(), sizeof header);
  const char* fault = CheckHeader(header, bytes.size());
  if (fault != nullptr) return fault;

  const std::size_t text_bytes = bytes.size() - sizeof header;
  const char* text = reinterpret_cast<const char*>(bytes.data()) + sizeof header;
  if (text_bytes == 0 || text[text_bytes - 1] != '\0') return "the order's text does not end";
  const std::uint64_t strings = std::uint64_t{1} + header.argc + header.envc + header.rulec;
  if (CountNuls(text, text_bytes, strings + 1) != strings) {
    return "the order's counts do not match its text";
  }

  const char* command = text + std::strlen(text) + 1;
  if (*command == '\0') return "the order's command is empty";
  view->header = header;
  view->cwd = text;
  view->strings = command;
  return nullptr;
}

void OrderPointers(const OrderView& view, std::span<char*> pointers) {
  // execve(2) takes char* but does not write.
  char* next = const_cast<char*>(view.strings);
  const OrderHeader& header = view.header;
  if (pointers.size() < std::size_t{header.argc} + header.envc + header.rulec + 3) return;
  std::size_t slot = 0;
  for (const std::uint32_t count : {header.argc, header.envc, header.rulec}) {
    for (std::uint32_t i = 0; i < count; ++i) {
      pointers[slot++] = next;
      next += std::strlen(next) + 1;
    }
    pointers[slot++] = nullptr;
  }
}

}  // namespace native_runner
