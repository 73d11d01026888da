// Observations of a launcher, made of arbitrary bytes: no read leaves them, and they bound the
// results.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "policy/denials/observation.h"
#include "protocol/report.h"

namespace {

using native_runner::Observation;
using native_runner::ObservationRecord;
using native_runner::ReadObservations;

void Require(bool condition) {
  if (!condition) std::abort();
}

// A copy that ends exactly where the input ends, so that AddressSanitizer sees one byte too many.
void Read(const std::vector<std::byte>& bytes) {
  const std::vector<Observation> read = ReadObservations(bytes);
  Require(read.size() * sizeof(ObservationRecord) <= bytes.size());
  for (const Observation& each : read) {
    Require(!each.call.empty() && each.call.size() <= native_runner::kMostCallName);
    Require(each.path.size() <= native_runner::kMostObservedPath);
    Require(each.error > 0 && each.count > 0);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::byte> bytes(size);
  if (size > 0) std::memcpy(bytes.data(), data, size);
  Read(bytes);

  // Once more with a first record that passes, as far as it can, so that its texts are reached.
  if (size < sizeof(ObservationRecord)) return 0;
  ObservationRecord record;
  std::memcpy(&record, data, sizeof record);
  record.size = static_cast<std::uint16_t>(size & 0xfff8U);
  record.kind = native_runner::ObservationKind::kConnect;
  record.by_filter &= 1U;
  record.error = 1;
  record.count |= 1U;
  record.call_size = 1;
  record.path_size %= 64;
  record.second_path_size %= 64;
  record.address_size %= 64;
  record.program_size %= 16;
  std::memcpy(bytes.data(), &record, sizeof record);
  Read(bytes);
  return 0;
}
