#include "addon/transactions/packed_changes.h"

#include <cstdint>

#include "policy/changes/change_version.h"

namespace native_runner {
namespace {

constexpr std::size_t kNumbers = 8;
constexpr int kConflict = 1;
constexpr int kTarget = 2;
constexpr int kFrom = 4;
constexpr int kVersion = 8;
constexpr double kNsPerMs = 1e6;

}  // namespace

PackedChanges Pack(const std::vector<Change>& changes, bool has_versions) {
  PackedChanges packed;
  packed.numbers.reserve(changes.size() * kNumbers);
  for (const Change& change : changes) {
    const bool has_target = change.type == Change::Type::kSymlink && change.mode != 0;
    packed.text += change.path;
    packed.text += '\0';
    const bool has_from = change.kind == Change::Kind::kRenamed;
    if (has_from) {
      packed.text += change.from;
      packed.text += '\0';
    }
    if (has_target) {
      packed.text += change.target;
      packed.text += '\0';
    }
    if (has_versions) {
      packed.text += VersionOf(change);
      packed.text += '\0';
    }
    const int flags = (change.conflict ? kConflict : 0) | (has_target ? kTarget : 0) |
                      (has_from ? kFrom : 0) | (has_versions ? kVersion : 0);
    for (const double number :
         {static_cast<double>(change.kind), static_cast<double>(change.type),
          static_cast<double>(change.size), static_cast<double>(change.previous_size),
          static_cast<double>(change.mode), static_cast<double>(change.previous_mode),
          static_cast<double>(flags), static_cast<double>(change.changed_ns) / kNsPerMs})
      packed.numbers.push_back(number);
  }
  return packed;
}

napi_value PackedChangesValue(ValueBuilder& builder, const PackedChanges& packed) {
  napi_value value = builder.Object();
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(packed.numbers.data());
  builder.Set(value, "text", builder.String(packed.text));
  builder.Set(value, "numbers", builder.CopiedBytes(bytes, packed.numbers.size() * sizeof(double)));
  return value;
}

}  // namespace native_runner
