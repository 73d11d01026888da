#include "addon/transactions/changes_value.h"

namespace native_runner {
namespace {

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

}  // namespace native_runner
