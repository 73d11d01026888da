#include "addon/convert/file_input.h"

#include <utility>

#include "addon/values/value_builder.h"
#include "policy/options/validate.h"
#include "policy/text/path.h"

namespace native_runner {
namespace {

constexpr std::uint64_t kMostBytes = (std::uint64_t{1} << 31U) - 1;  // also readFile's in Node
constexpr std::uint64_t kUsualBytes = std::uint64_t{64} << 20U;
constexpr std::uint64_t kMostEntries = std::uint64_t{1} << 24U;
constexpr std::uint64_t kUsualEntries = 10'000;
constexpr std::uint64_t kMostMode = 0777;

bool IsBytes(const Napi::Value& value) {
  return value.IsTypedArray() && value.As<Napi::TypedArray>().TypedArrayType() == napi_uint8_array;
}

std::optional<std::vector<std::uint8_t>> BytesOrText(const Napi::Value& value) {
  if (IsBytes(value)) {
    const auto bytes = value.As<Napi::Uint8Array>();
    return std::vector<std::uint8_t>(bytes.Data(), bytes.Data() + bytes.ByteLength());
  }
  if (!value.IsString()) return std::nullopt;
  const std::string text = value.As<Napi::String>();
  return std::vector<std::uint8_t>(text.begin(), text.end());
}

void FailType(Reader& reader, const char* field, const Napi::Value& value) {
  reader.Fail({ErrorCode::kInvalidType,
               std::string("Expected `") + field + "` to be a string or a Uint8Array, got " +
                   Describe(value),
               ""});
}

std::optional<mode_t> ReadMode(Fields& options) {
  const auto mode = options.Integer("mode", 0, kMostMode);
  return mode ? std::optional(static_cast<mode_t>(*mode)) : std::nullopt;
}

}  // namespace

PathInput ReadPath(Reader& reader, const Napi::Value& value, const PathArgument& argument) {
  const auto bytes = BytesOrText(value);
  if (!bytes) {
    FailType(reader, argument.field, value);
    return {};
  }
  PathInput path;
  path.given.assign(bytes->begin(), bytes->end());
  auto relative = WorkspaceRelative(BelowWorkspace(path.given, argument.workspace),
                                    std::string("files.") + argument.call, argument.field);
  if (relative) {
    path.relative = std::move(relative.value());
  } else {
    reader.Fail(relative.error());
  }
  return path;
}

std::vector<std::uint8_t> ReadData(Reader& reader, const Napi::Value& value) {
  auto bytes = BytesOrText(value);
  if (!bytes) FailType(reader, "data", value);
  return std::move(bytes).value_or(std::vector<std::uint8_t>());
}

std::uint64_t ReadMaxBytes(Fields& options) {
  return options.Integer("maxBytes", 0, kMostBytes).value_or(kUsualBytes);
}

WriteRule ReadWriteRule(Fields& options) {
  WriteRule rule;
  rule.mode = ReadMode(options);
  rule.flush = options.Boolean("flush").value_or(false);
  const auto condition = options.Value("ifUnchanged");
  if (!condition) return rule;
  if (condition->IsNull()) {
    rule.condition = WriteRule::If::kAbsent;
    return rule;
  }
  const std::string text = condition->IsString() ? condition->As<Napi::String>().Utf8Value() : "";
  if (const auto version = FileVersion::Parse(text)) {
    rule.condition = WriteRule::If::kUnchanged;
    rule.version = *version;
  } else {
    options.Fail("ifUnchanged", ErrorCode::kInvalidValue, "the `version` of a stat, or null",
                 *condition);
  }
  return rule;
}

ListRule ReadListRule(Fields& options) {
  ListRule rule;
  rule.recursive = ReadRecursive(options);
  rule.most = options.Integer("maxEntries", 1, kMostEntries).value_or(kUsualEntries);
  return rule;
}

MakeRule ReadMakeRule(Fields& options) {
  MakeRule rule;
  rule.recursive = ReadRecursive(options);
  rule.mode = ReadMode(options).value_or(rule.mode);
  return rule;
}

bool ReadRecursive(Fields& options) {
  return options.Boolean("recursive").value_or(false);
}

std::string ReadWorkspacePath(Fields& options, const std::string& directory) {
  if (options.OneOf("workspacePath", {kWorkspace, "same"}) != 1) return kWorkspace;
  return directory.starts_with('/') && !HasParentComponent(directory) ? NormalPath(directory)
                                                                      : directory;
}

WorkspaceRights ReadWorkspaceRights(Fields& options, std::string* workspace) {
  WorkspaceRights rights;
  std::string directory = options.RequiredString("shadowDir");
  if (!options.reader().failed()) options.reader().FailIf(CheckPath(directory, "shadowDir"));
  *workspace = ReadWorkspacePath(options, directory);
  rights.open = WorkspaceRootAt(std::move(directory));
  rights.may_read = options.Boolean("read").value_or(true);
  rights.may_write = options.Boolean("write").value_or(true);
  return rights;
}

}  // namespace native_runner
