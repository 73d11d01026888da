#include "protocol/order.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>

namespace native_runner {
namespace {

using Texts = std::vector<std::string>;
using Bytes = std::vector<std::byte>;

Bytes Sample() {
  OrderHeader header;
  header.flags = kOrderIsInit | kOrderSeccomp;
  header.cpu_seconds = 3;
  return EncodeOrder(header, "/workspace/a", Texts{"sh", "-c", "", "\xff\n"}, Texts{"A=1", "B="});
}

std::string Fault(const Bytes& bytes) {
  OrderView view;
  const char* fault = DecodeOrder(bytes, &view);
  return fault == nullptr ? "" : fault;
}

// Overwrites one header field of a good order.
template <typename T>
Bytes With(std::size_t offset, T value) {
  Bytes bytes = Sample();
  std::memcpy(bytes.data() + offset, &value, sizeof value);
  return bytes;
}

TEST(Order, RoundTrips) {
  const Bytes bytes = Sample();
  OrderView view;
  ASSERT_EQ(DecodeOrder(bytes, &view), nullptr);
  EXPECT_EQ(view.header.flags, kOrderIsInit | kOrderSeccomp);
  EXPECT_EQ(view.header.cpu_seconds, 3u);
  EXPECT_EQ(view.header.data_bytes, kNoLimit);
  EXPECT_STREQ(view.cwd, "/workspace/a");
  ASSERT_EQ(view.header.argc, 4u);
  ASSERT_EQ(view.header.envc, 2u);

  std::vector<char*> pointers(9, view.header.argc == 0 ? nullptr : const_cast<char*>("unset"));
  OrderPointers(view, pointers);
  EXPECT_STREQ(pointers[0], "sh");
  EXPECT_STREQ(pointers[1], "-c");
  EXPECT_STREQ(pointers[2], "");
  EXPECT_STREQ(pointers[3], "\xff\n");
  EXPECT_EQ(pointers[4], nullptr);
  EXPECT_STREQ(pointers[5], "A=1");
  EXPECT_STREQ(pointers[6], "B=");
  EXPECT_EQ(pointers[7], nullptr);
  EXPECT_EQ(pointers[8], nullptr);
}

TEST(Order, RulesComeLast) {
  const Bytes bytes = EncodeOrder({}, "", Texts{"true"}, Texts{"A=1"}, Texts{"r/usr", "w/tmp"});
  OrderView view;
  ASSERT_EQ(DecodeOrder(bytes, &view), nullptr);
  ASSERT_EQ(view.header.rulec, 2u);
  char* pointers[7] = {};
  OrderPointers(view, pointers);
  EXPECT_STREQ(pointers[2], "A=1");
  EXPECT_STREQ(pointers[4], "r/usr");
  EXPECT_STREQ(pointers[5], "w/tmp");
  EXPECT_EQ(pointers[6], nullptr);
}

TEST(Order, EmptyCwdAndEnvironment) {
  const Bytes bytes = EncodeOrder({}, "", Texts{"true"}, Texts{});
  OrderView view;
  ASSERT_EQ(DecodeOrder(bytes, &view), nullptr);
  EXPECT_STREQ(view.cwd, "");
  char* pointers[4] = {};
  OrderPointers(view, pointers);
  EXPECT_STREQ(pointers[0], "true");
  EXPECT_EQ(pointers[1], nullptr);
  EXPECT_EQ(pointers[2], nullptr);
}

TEST(Order, LargeArguments) {
  const Texts argv = {"cat", std::string(131072, 'x')};
  const Texts environment(5000, "NAME=value");
  const Bytes bytes = EncodeOrder({}, "/workspace", argv, environment);
  OrderView view;
  ASSERT_EQ(DecodeOrder(bytes, &view), nullptr);
  std::vector<char*> pointers(argv.size() + environment.size() + 3);
  OrderPointers(view, pointers);
  EXPECT_EQ(std::strlen(pointers[1]), argv[1].size());
  EXPECT_STREQ(pointers[3 + 4999], "NAME=value");
}

TEST(OrderPointers, TooFewSlotsAreLeftAlone) {
  const Bytes bytes = Sample();
  OrderView view;
  ASSERT_EQ(DecodeOrder(bytes, &view), nullptr);
  std::vector<char*> pointers(8);
  OrderPointers(view, pointers);
  for (const char* pointer : pointers)
    EXPECT_EQ(pointer, nullptr);
}

TEST(DecodeOrder, EveryTruncationIsRefused) {
  const Bytes bytes = Sample();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_NE(Fault(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size))), "")
        << size;
  }
  Bytes longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_EQ(Fault(longer), "the order has a wrong length");
}

TEST(DecodeOrder, ChecksTheHeader) {
  EXPECT_EQ(Fault(Sample()), "");
  EXPECT_NE(Fault(With(offsetof(OrderHeader, magic), kOrderMagic + 1)).find("magic"),
            std::string::npos);
  EXPECT_NE(Fault(With(offsetof(OrderHeader, version), kOrderVersion + 1)).find("version"),
            std::string::npos);
  EXPECT_NE(Fault(With(offsetof(OrderHeader, flags), 1u << 31)).find("flags"), std::string::npos);
  EXPECT_NE(Fault(With(offsetof(OrderHeader, rulec), 1u)).find("counts"), std::string::npos);
  EXPECT_NE(Fault(With(offsetof(OrderHeader, text_bytes), UINT64_MAX)).find("length"),
            std::string::npos);
}

TEST(DecodeOrder, ALeaseIsACommands) {
  const auto fault = [](std::uint32_t flags, std::uint64_t until_ns) {
    OrderHeader header;
    header.flags = flags;
    header.lease_until_ns = until_ns;
    return Fault(EncodeOrder(header, "", Texts{"true"}, Texts{}));
  };
  for (const std::uint32_t flags : {0u, +kOrderIsInit, +kOrderMakeInit, +kOrderOwnSession}) {
    EXPECT_EQ(fault(flags, 0), "");
    EXPECT_EQ(fault(flags, kNoLease - 1), "");
  }
  for (const std::uint32_t flags : {+kOrderSession, +kOrderNamespaces, +kOrderTemplate}) {
    EXPECT_EQ(fault(flags, kNoLease), "");
    EXPECT_NE(fault(flags, 1).find("lease"), std::string::npos);
  }
}

TEST(DecodeOrder, ATerminalHasASizeAndASession) {
  const auto fault = [](std::uint32_t flags, std::uint16_t columns, std::uint16_t rows) {
    OrderHeader header;
    header.flags = flags;
    header.terminal_columns = columns;
    header.terminal_rows = rows;
    return Fault(EncodeOrder(header, "", Texts{"true"}, Texts{}));
  };
  constexpr std::uint32_t kBoth = kOrderOwnSession | kOrderTerminal;
  EXPECT_EQ(fault(kBoth, 80, 24), "");
  EXPECT_EQ(fault(kOrderOwnSession, 0, 0), "");
  EXPECT_NE(fault(kOrderTerminal, 80, 24).find("session"), std::string::npos);
  EXPECT_NE(fault(kBoth, 0, 24).find("size"), std::string::npos);
  EXPECT_NE(fault(kBoth, 80, 0).find("size"), std::string::npos);
  EXPECT_NE(fault(kOrderOwnSession, 80, 24).find("size"), std::string::npos);
  EXPECT_NE(fault(0, 0, 24).find("size"), std::string::npos);
  EXPECT_NE(fault(kBoth | kOrderMergeStderr, 80, 24).find("streams"), std::string::npos);
  EXPECT_EQ(fault(kOrderOwnSession | kOrderMergeStderr, 0, 0), "");
}

TEST(DecodeOrder, ChecksTheCountsAgainstTheText) {
  for (const std::uint32_t argc : {0u, 3u, 5u, UINT32_MAX}) {
    EXPECT_NE(Fault(With(offsetof(OrderHeader, argc), argc)), "") << argc;
  }
  for (const std::uint32_t envc : {0u, 1u, 3u, UINT32_MAX}) {
    EXPECT_NE(Fault(With(offsetof(OrderHeader, envc), envc)), "") << envc;
  }
  Bytes open_end = Sample();
  open_end.back() = std::byte{'x'};
  EXPECT_EQ(Fault(open_end), "the order's text does not end");
}

TEST(DecodeOrder, RefusesAnEmptyCommand) {
  EXPECT_EQ(Fault(EncodeOrder({}, "", Texts{""}, Texts{})), "the order's command is empty");
  EXPECT_EQ(Fault(EncodeOrder({}, "", Texts{}, Texts{"A=1"})), "the order has no command");
}

// A NUL byte that slipped through would shift every later string: the counts catch it.
TEST(DecodeOrder, RefusesEmbeddedNuls) {
  EXPECT_NE(Fault(EncodeOrder({}, "", Texts{std::string("a\0b", 3)}, Texts{})), "");
  EXPECT_NE(Fault(EncodeOrder({}, std::string_view("/\0x", 3), Texts{"a"}, Texts{})), "");
}

}  // namespace
}  // namespace native_runner
