#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "policy/denials/observation.h"

namespace native_runner {
namespace {

struct Texts {
  std::string call = "openat";
  std::string path = {};
  std::string second = {};
  std::string address = {};
  std::string program = "cat";
};

std::vector<std::byte> Encode(ObservationRecord record, const Texts& texts) {
  std::string all;
  const auto add = [&all](const std::string& text) {
    all += text;
    return static_cast<std::uint16_t>(text.size());
  };
  record.call_size = add(texts.call);
  record.path_size = add(texts.path);
  record.second_path_size = add(texts.second);
  record.address_size = add(texts.address);
  record.program_size = add(texts.program);
  while (all.size() % kObservationAlignment != 0)
    all += '\0';
  record.size = static_cast<std::uint16_t>(sizeof record + all.size());
  std::vector<std::byte> bytes(record.size);
  std::memcpy(bytes.data(), &record, sizeof record);
  std::memcpy(bytes.data() + sizeof record, all.data(), all.size());
  return bytes;
}

ObservationRecord Refused() {
  ObservationRecord record;
  record.kind = ObservationKind::kRead;
  record.error = EACCES;
  record.count = 2;
  record.argument = 7;
  return record;
}

std::string Address(std::initializer_list<int> bytes) {
  std::string made;
  for (const int byte : bytes)
    made += static_cast<char>(byte);
  return made;
}

TEST(ObservationReaderTest, ReadsSeveral) {
  std::vector<std::byte> bytes = Encode(Refused(), {.path = "/a b\nc", .second = "/d"});
  ObservationRecord next = Refused();
  next.by_filter = 1;
  const std::vector<std::byte> second = Encode(next, {.call = "bpf"});
  bytes.insert(bytes.end(), second.begin(), second.end());
  const auto read = ReadObservations(bytes);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].call, "openat");
  EXPECT_EQ(read[0].kind, Observation::Kind::kRead);
  EXPECT_EQ(read[0].error, EACCES);
  EXPECT_EQ(read[0].path, "/a b\nc");
  EXPECT_EQ(read[0].second_path, "/d");
  EXPECT_EQ(read[0].program, "cat");
  EXPECT_EQ(read[0].count, 2u);
  EXPECT_EQ(read[0].argument, 7u);
  EXPECT_FALSE(read[0].by_filter);
  EXPECT_TRUE(read[1].by_filter);
  EXPECT_EQ(read[1].call, "bpf");
}

TEST(ObservationReaderTest, ReadsAddresses) {
  const auto read = [](const std::string& address) {
    return ReadObservations(Encode(Refused(), {.call = "connect", .address = address})).at(0);
  };
  const Observation v4 = read(Address({2, 0, 0x1f, 0x90, 192, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(v4.address, "192.0.2.1");
  EXPECT_EQ(v4.port, 8080);
  std::string bytes = Address({10, 0, 0, 53, 0, 0, 0, 0, 0x20, 1, 0x0d, 0xb8});
  bytes.resize(24);
  bytes.back() = 1;
  const Observation v6 = read(bytes);
  EXPECT_EQ(v6.address, "2001:db8::1");
  EXPECT_EQ(v6.port, 53);
  EXPECT_EQ(read(Address({1, 0, 0, 'n', 'a'})).address, "unix:@na");
  EXPECT_EQ(read(Address({1, 0})).address, "unix:@");
  EXPECT_EQ(read(Address({40, 0, 1, 2})).address, "family:40");
  EXPECT_EQ(read(Address({2, 0, 0})).address, "family:2");
  EXPECT_EQ(read(Address({2})).address, "");
}

TEST(ObservationReaderTest, StopsAtWhatIsNotWellFormed) {
  const std::vector<std::byte> good = Encode(Refused(), {.path = "/x"});
  EXPECT_EQ(ReadObservations(good).size(), 1u);
  const auto is_refused = [&good](const char* what, auto change) {
    ObservationRecord record;
    std::vector<std::byte> bytes = good;
    std::memcpy(&record, bytes.data(), sizeof record);
    change(&record);
    std::memcpy(bytes.data(), &record, sizeof record);
    EXPECT_TRUE(ReadObservations(bytes).empty()) << what;
  };
  using Record = ObservationRecord;
  is_refused("too long", [](Record* record) { record->size += kObservationAlignment; });
  is_refused("not aligned", [](Record* record) { record->size -= 1; });
  is_refused("no size", [](Record* record) { record->size = 0; });
  is_refused("kind", [](Record* record) { record->kind = static_cast<ObservationKind>(9); });
  is_refused("no kind", [](Record* record) { record->kind = static_cast<ObservationKind>(0); });
  is_refused("filter", [](Record* record) { record->by_filter = 2; });
  is_refused("no error", [](Record* record) { record->error = 0; });
  is_refused("negative error", [](Record* record) { record->error = -1; });
  is_refused("no count", [](Record* record) { record->count = 0; });
  is_refused("no call", [](Record* record) { record->call_size = 0; });
  is_refused("long call", [](Record* record) { record->call_size = kMostCallName + 1; });
  is_refused("long path", [](Record* record) { record->path_size = 60'000; });
  is_refused("long address", [](Record* record) { record->address_size = 200; });
  is_refused("texts too long", [](Record* record) { record->program_size = 16; });
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_TRUE(ReadObservations({good.data(), size}).empty()) << size;
}

}  // namespace
}  // namespace native_runner
