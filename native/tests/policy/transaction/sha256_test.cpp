// The digests of FIPS 180-4's own examples, and that the parts in which bytes come are no matter.
#include <gtest/gtest.h>

#include <string_view>

#include "policy/text/digest.h"

namespace native_runner {
namespace {

std::span<const std::uint8_t> Bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string DigestOf(std::string_view text) {
  Sha256 digest;
  digest.Update(Bytes(text));
  return digest.Finish();
}

TEST(Sha256Test, IsThatOfTheStandard) {
  EXPECT_EQ(DigestOf(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(DigestOf("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(DigestOf("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(DigestOf(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256Test, IsTheSameInWhateverParts) {
  for (std::size_t size = 0; size < 200; ++size) {
    const std::string text(size, 'x');
    const std::string whole = DigestOf(text);
    for (const std::size_t part : {1U, 7U, 63U, 64U, 65U}) {
      Sha256 digest;
      for (std::size_t at = 0; at < size; at += part)
        digest.Update(Bytes(std::string_view(text).substr(at, part)));
      EXPECT_EQ(digest.Finish(), whole) << size << " in " << part;
    }
  }
}

TEST(Sha256Test, IsTheSameByTheProcessorsInstructions) {
  std::string text;
  for (std::uint32_t at = 0; at < 1000; ++at)
    text += static_cast<char>(at * at * 2'654'435'761U >> 24U);
  for (std::size_t size = 0; size <= text.size(); ++size) {
    Sha256 portable(Sha256::By::kPortable);
    portable.Update(Bytes(std::string_view(text).substr(0, size)));
    ASSERT_EQ(portable.Finish(), DigestOf(text.substr(0, size))) << size;
  }
}

}  // namespace
}  // namespace native_runner
