#include "addon/workspace/transaction_values.h"

#include <array>
#include <cstdint>
#include <utility>

#include "policy/transaction/change.h"
#include "workspace/commit/commit.h"

namespace native_runner {
namespace {

constexpr std::size_t kNumbers = 8;
constexpr int kConflict = 1;
constexpr int kTarget = 2;
constexpr int kFrom = 4;
constexpr int kVersion = 8;
constexpr double kNsPerMs = 1e6;

const char* KindName(Change::Kind kind) {
  switch (kind) {
    case Change::Kind::kAdded:
      return "added";
    case Change::Kind::kModified:
      return "modified";
    case Change::Kind::kDeleted:
      return "deleted";
    case Change::Kind::kRenamed:
      return "renamed";
  }
  return "";
}

const char* TypeName(Change::Type type) {
  switch (type) {
    case Change::Type::kFile:
      return "file";
    case Change::Type::kDirectory:
      return "directory";
    case Change::Type::kSymlink:
      return "symlink";
    case Change::Type::kOther:
      return "other";
  }
  return "";
}

const char* StateName(ListedTransaction::State state) {
  switch (state) {
    case ListedTransaction::State::kOpen:
      return "open";
    case ListedTransaction::State::kClosed:
      return "closed";
    case ListedTransaction::State::kTorn:
      return "torn";
  }
  return "";
}

// Names as in types/transaction.d.ts; nullptr for kNothing.
const char* RecoveredName(Recovered recovered) {
  switch (recovered) {
    case Recovered::kNothing:
      return nullptr;
    case Recovered::kRolledBack:
      return "rolled-back";
    case Recovered::kCompleted:
      return "completed";
    case Recovered::kTorn:
      return "torn";
  }
  return nullptr;
}

napi_value ChangeValue(ValueBuilder& builder, const Change& change) {
  napi_value value = builder.Object();
  const auto number = [&](const char* key, std::uint64_t given) {
    builder.Set(value, key, builder.Number(static_cast<double>(given)));
  };
  builder.Set(value, "path", builder.String(change.path));
  builder.Set(value, "kind", builder.String(KindName(change.kind)));
  builder.Set(value, "type", builder.String(TypeName(change.type)));
  number("size", change.size);
  number("previousSize", change.previous_size);
  number("mode", change.mode);
  number("previousMode", change.previous_mode);
  if (change.kind == Change::Kind::kRenamed) {
    builder.Set(value, "from", builder.String(change.from));
  }
  if (change.type == Change::Type::kSymlink && change.mode != 0) {
    builder.Set(value, "target", builder.String(change.target));
  }
  if (change.conflict) builder.Set(value, "conflict", builder.Boolean(true));
  return value;
}

}  // namespace

napi_value ChangesValue(ValueBuilder& builder, const std::vector<Change>& changes) {
  std::vector<napi_value> values;
  values.reserve(changes.size());
  for (const Change& change : changes)
    values.push_back(ChangeValue(builder, change));
  return builder.Array(values);
}

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

napi_value CheckpointValue(ValueBuilder& builder, const CheckpointRecord& record) {
  napi_value value = builder.Object();
  builder.Set(value, "id", builder.String(record.id));
  builder.Set(value, "name", builder.String(record.name));
  builder.Set(value, "createdMs",
              builder.Number(static_cast<double>(record.created_ns) / kNsPerMs));
  return value;
}

napi_value CheckpointsValue(ValueBuilder& builder, const std::vector<CheckpointRecord>& records) {
  std::vector<napi_value> values;
  values.reserve(records.size());
  for (const CheckpointRecord& record : records)
    values.push_back(CheckpointValue(builder, record));
  return builder.Array(values);
}

napi_value ListedValue(ValueBuilder& builder, const ListedTransaction& listed) {
  const TransactionRecord& record = listed.record;
  napi_value value = builder.Object();
  builder.Set(value, "id", builder.String(record.id));
  builder.Set(value, "workspace", builder.String(record.workspace));
  const double created_ms = static_cast<double>(record.created_ns) / kNsPerMs;
  builder.Set(value, "createdMs", builder.Number(created_ms));
  builder.Set(value, "backend", builder.String(record.backend));
  builder.Set(value, "state", builder.String(StateName(listed.state)));
  if (const char* recovered = RecoveredName(listed.recovered)) {
    builder.Set(value, "recovered", builder.String(recovered));
  }
  if (!record.parent.empty()) builder.Set(value, "parent", builder.String(record.parent));
  if (listed.has_commit) builder.Set(value, "committed", builder.Boolean(true));
  return value;
}

napi_value SpaceValue(ValueBuilder& builder, const SpaceReport& report) {
  const auto number = [&builder](napi_value value, const char* key, std::uint64_t bytes) {
    builder.Set(value, key, builder.Number(static_cast<double>(bytes)));
  };
  std::vector<napi_value> values;
  values.reserve(report.each.size());
  for (const TransactionSpace& space : report.each) {
    napi_value value = builder.Object();
    builder.Set(value, "id", builder.String(space.id));
    number(value, "bytes", space.bytes);
    number(value, "sharedBytes", space.shared_bytes);
    number(value, "changesBytes", space.changes_bytes);
    number(value, "checkpointsBytes", space.checkpoints_bytes);
    number(value, "homeBytes", space.home_bytes);
    builder.Set(value, "isWhole", builder.Boolean(space.is_whole));
    values.push_back(value);
  }
  napi_value value = builder.Object();
  builder.Set(value, "each", builder.Array(values));
  number(value, "totalBytes", report.total_bytes);
  return value;
}

napi_value OpenedValue(ValueBuilder& builder, const Transaction& opened) {
  napi_value value = builder.Object();
  builder.Set(value, "id", builder.String(opened.id()));
  builder.Set(value, "backend", builder.String(opened.backend()));
  const std::string& parent = opened.parent();
  if (!parent.empty()) builder.Set(value, "parent", builder.String(parent));
  const std::string& reason = opened.backend_reason();
  if (!reason.empty()) builder.Set(value, "backendReason", builder.String(reason));
  if (const auto& copied = opened.copied()) {
    napi_value counts = builder.Object();
    builder.Set(counts, "files", builder.Number(static_cast<double>(copied->files)));
    builder.Set(counts, "bytes", builder.Number(static_cast<double>(copied->bytes)));
    builder.Set(value, "copied", counts);
  }
  if (const char* recovered = RecoveredName(opened.recovered())) {
    builder.Set(value, "recovered", builder.String(recovered));
  }
  return value;
}

napi_value MergePlanValue(ValueBuilder& builder, const MergePlan& plan) {
  constexpr std::array kVerdicts = {"theirs", "merge", "conflict"};
  std::vector<napi_value> steps;
  steps.reserve(plan.size());
  for (const MergeStep& step : plan) {
    napi_value value = builder.Object();
    builder.Set(value, "path", builder.String(step.path));
    builder.Set(value, "verdict",
                builder.String(kVerdicts.at(static_cast<std::size_t>(step.verdict))));
    builder.Set(value, "reason", builder.String(step.reason));
    builder.Set(value, "mode", builder.Number(step.mode));
    builder.Set(value, "removed", builder.String(step.removed));
    const auto bytes = [&](const char* key, const std::optional<std::string>& text) {
      if (!text) return;
      const auto* data = reinterpret_cast<const std::uint8_t*>(text->data());
      builder.Set(value, key, builder.CopiedBytes(data, text->size()));
    };
    bytes("base", step.base);
    bytes("ours", step.ours);
    bytes("theirs", step.theirs);
    steps.push_back(value);
  }
  return builder.Array(steps);
}

MakeValue CommitValue(Transaction::CommitResult result) {
  PackedChanges committed = Pack(result.committed);
  PackedChanges left = Pack(result.left);
  return [result = std::move(result), committed = std::move(committed),
          left = std::move(left)](ValueBuilder& builder) {
    napi_value value = builder.Object();
    builder.Set(value, "committed", PackedChangesValue(builder, committed));
    builder.Set(value, "digests", builder.Strings(result.digests));
    builder.Set(value, "left", PackedChangesValue(builder, left));
    builder.Set(value, "conflicts", ChangesValue(builder, result.conflicts));
    builder.Set(value, "unexpected", builder.Strings(result.unexpected));
    builder.Set(value, "refused", ChangesValue(builder, result.refused));
    return value;
  };
}

}  // namespace native_runner
