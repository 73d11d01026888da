// The launcher's order parser on arbitrary bytes: it never reads outside them, and what it accepts
// encodes to the same bytes again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "protocol/order.h"

namespace {

using native_runner::DecodeOrder;
using native_runner::EncodeOrder;
using native_runner::OrderHeader;
using native_runner::OrderPointers;
using native_runner::OrderView;

void Require(bool condition) {
  if (!condition) std::abort();
}

void CheckAccepted(const std::vector<std::byte>& bytes, const OrderView& view) {
  const std::size_t argc = view.header.argc;
  const std::size_t envc = view.header.envc;
  std::vector<char*> pointers(argc + envc + view.header.rulec + 3, nullptr);
  OrderPointers(view, pointers);
  Require(pointers[argc] == nullptr && pointers.back() == nullptr);
  std::vector<std::string> argv;
  for (std::size_t i = 0; i < argc; ++i)
    argv.emplace_back(pointers[i]);
  std::vector<std::string> environment;
  for (std::size_t i = 0; i < envc; ++i)
    environment.emplace_back(pointers[argc + 1 + i]);
  std::vector<std::string> rules;
  for (std::size_t i = 0; i < view.header.rulec; ++i)
    rules.emplace_back(pointers[argc + envc + 2 + i]);
  Require(!argv.empty() && !argv.front().empty());
  Require(EncodeOrder(view.header, view.cwd, argv, environment, rules) == bytes);
}

// Copies that end exactly where the input ends, so that AddressSanitizer sees one byte too many.
void Decode(const std::vector<std::byte>& bytes) {
  OrderView view;
  const char* fault = DecodeOrder(bytes, &view);
  if (fault == nullptr) {
    CheckAccepted(bytes, view);
  } else {
    Require(*fault != '\0');
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::byte> bytes(size);
  if (size > 0) std::memcpy(bytes.data(), data, size);
  Decode(bytes);

  // Once more with a header that passes its first checks, so that the text is reached.
  if (size < sizeof(OrderHeader)) return 0;
  OrderHeader header;
  std::memcpy(&header, data, sizeof header);
  header.magic = native_runner::kOrderMagic;
  header.version = native_runner::kOrderVersion;
  header.flags &= native_runner::kOrderKnownFlags;
  header.terminal_columns = header.terminal_rows =
      (header.flags & native_runner::kOrderTerminal) != 0 ? 80 : 0;
  header.text_bytes = size - sizeof header;
  std::uint32_t strings = 0;
  for (std::size_t i = sizeof header; i < size; ++i)
    strings += data[i] == 0 ? 1 : 0;
  if (strings > 1) {
    header.argc = 1 + header.argc % (strings - 1);
    header.envc = header.envc % (strings - header.argc);
    header.rulec = strings - 1 - header.argc - header.envc;
  }
  std::memcpy(bytes.data(), &header, sizeof header);
  Decode(bytes);
  return 0;
}
