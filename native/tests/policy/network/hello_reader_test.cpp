#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>

#include "policy/network/tls_client_hello.h"
#include "tests/policy/network/made_client_hello.h"

namespace native_runner {
namespace {

// Fed in pieces of `piece` bytes.
HelloState Fed(const TlsBytes& bytes, std::size_t piece, HelloReader* reader) {
  std::span<const std::uint8_t> rest(bytes);
  while (!rest.empty()) {
    const std::size_t size = std::min(piece, rest.size());
    reader->Feed(rest.first(size));
    rest = rest.subspan(size);
  }
  return reader->state();
}

HelloState StateOf(const TlsBytes& bytes) {
  HelloReader reader;
  return Fed(bytes, bytes.size() + 1, &reader);
}

TlsBytes Named() {
  return HelloMessage(HelloBody(ServerName("a.test")));
}

TEST(HelloReader, FindsTheNameAcrossRecordsAndPieces) {
  for (const std::size_t record : {1, 3, 4, 5, 50, 16384}) {
    for (const std::size_t piece : {1, 2, 7, 100, 100000}) {
      HelloReader reader;
      EXPECT_EQ(Fed(Records(Named(), record), piece, &reader), HelloState::kHasName);
      EXPECT_EQ(reader.hello().server_name->text(), "a.test") << record << " " << piece;
    }
  }
}

TEST(HelloReader, NeedsAllOfIt) {
  const TlsBytes whole = Records(Named(), 20);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(StateOf(TlsBytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size))),
              HelloState::kNeedsMore);
  }
  EXPECT_EQ(StateOf(whole), HelloState::kHasName);
}

TEST(HelloReader, KnowsAHelloWithoutAName) {
  EXPECT_EQ(StateOf(Records(HelloMessage(HelloBody({})))), HelloState::kHasNone);
}

TEST(HelloReader, KnowsOtherProtocolsAtOnce) {
  EXPECT_EQ(StateOf({'S'}), HelloState::kNotTls);
  EXPECT_EQ(StateOf({'G', 'E', 'T', ' '}), HelloState::kNotTls);
  EXPECT_EQ(StateOf({0x80, 46, 1}), HelloState::kNotTls);  // SSL 2
  EXPECT_EQ(StateOf({21, 3, 1, 0, 2, 1, 0}), HelloState::kNotTls);
  EXPECT_EQ(StateOf({22, 4}), HelloState::kNotTls);
}

TEST(HelloReader, RefusesWhatNoServerTakes) {
  EXPECT_EQ(StateOf({22, 3, 1, 0, 0}), HelloState::kMalformed);     // an empty fragment
  EXPECT_EQ(StateOf({22, 3, 1, 0x40, 1}), HelloState::kMalformed);  // over 2^14
  EXPECT_EQ(StateOf({22, 3, 1, 0, 4, 2}), HelloState::kMalformed);  // a ServerHello
  EXPECT_EQ(StateOf({22, 3, 1, 0, 4, 1, 0xff, 0, 0}), HelloState::kMalformed);
  EXPECT_EQ(StateOf(Records(HelloMessage({3, 3}))), HelloState::kMalformed);
  // Another message in the record, or another kind of record in the middle.
  EXPECT_EQ(StateOf(Records(Join(Named(), Named()))), HelloState::kMalformed);
  TlsBytes mixed = Records(Named(), 20);
  mixed[25] = 23;
  EXPECT_EQ(StateOf(mixed), HelloState::kMalformed);
}

TEST(HelloReader, IsBounded) {
  const auto padded = [](std::size_t size) {
    return HelloMessage(HelloBody(Join(ServerName("a.test"), Extension(21, TlsBytes(size, 0)))));
  };
  EXPECT_EQ(StateOf(Records(padded(30000))), HelloState::kHasName);
  EXPECT_EQ(StateOf(Records(padded(33000))), HelloState::kMalformed);
  // A byte a record takes six bytes of stream each.
  EXPECT_EQ(StateOf(Records(padded(5000), 1)), HelloState::kHasName);
  EXPECT_EQ(StateOf(Records(padded(20000), 1)), HelloState::kMalformed);
}

TEST(HelloReader, StaysAsItIs) {
  HelloReader reader;
  Fed(Records(Named()), 1000, &reader);
  EXPECT_EQ(reader.Feed(TlsBytes{21, 3, 1}), HelloState::kHasName);
  HelloReader other;
  other.Feed(TlsBytes{'x'});
  EXPECT_EQ(other.Feed(Records(Named())), HelloState::kNotTls);
}

}  // namespace
}  // namespace native_runner
