#include "addon/values/file_values.h"

#include <uv.h>

#include <string_view>
#include <utility>

#include "addon/values/value_builder.h"
#include "policy/text/text.h"

namespace native_runner {
namespace {

// Names as in types/files.d.ts.
const char* TypeName(FileType type) {
  switch (type) {
    case FileType::kFile:
      return "file";
    case FileType::kDirectory:
      return "directory";
    case FileType::kSymlink:
      return "symlink";
    case FileType::kOther:
      break;
  }
  return "other";
}

// Returns a path as the methods take it: a leading "workspace" would be the workspace itself.
std::string AsGiven(std::string_view relative) {
  constexpr std::string_view kRoot = "workspace";
  const bool names_root = relative.substr(0, relative.find('/')) == kRoot;
  std::string path(names_root ? "workspace/" : "");
  return path.append(relative);
}

std::string Quoted(const FileAttempt& attempt) {
  std::string paths = " '" + attempt.path + "'";
  if (!attempt.to.empty()) paths += " -> '" + attempt.to + "'";
  return paths;
}

struct Reported {
  std::string code;
  std::string message;
};

Reported ReportedOf(const FileError& error, const FileAttempt& attempt) {
  const std::string most = std::to_string(error.most);
  const std::string path = "'" + attempt.path + "'";
  switch (error.kind) {
    case FileError::Kind::kTooLarge:
      return {"ERR_FS_FILE_TOO_LARGE", path + " has more than " + most + " bytes (maxBytes)"};
    case FileError::Kind::kTooMany:
      return {"ERR_FS_TOO_MANY_ENTRIES",
              path + " has more than " + most +
                  " entries (maxEntries), or deeper ones than as many may be"};
    case FileError::Kind::kChanged:
      return {"ERR_FILE_CHANGED", path + " is not what it was (ifUnchanged)"};
    default:
      break;
  }
  const std::string code = uv_err_name(-error.number);
  return {code, code + ": " + uv_strerror(-error.number) + ", " + error.call + Quoted(attempt)};
}

}  // namespace

napi_value MakeFileError(napi_env env, const FileError& error, const FileAttempt& given) {
  if (error.kind == FileError::Kind::kSandbox) return MakeJsError(env, error.sandbox);
  FileAttempt attempt = given;
  if (error.path) attempt.path = AsGiven(*error.path);
  const Reported reported = ReportedOf(error, attempt);
  ValueBuilder builder(env);
  napi_value code = builder.String(reported.code);
  napi_value message = builder.String(reported.message);
  napi_value made = nullptr;
  if (!builder.ok()) return nullptr;
  const bool is_range =
      error.kind == FileError::Kind::kTooLarge || error.kind == FileError::Kind::kTooMany;
  const napi_status status = is_range ? napi_create_range_error(env, code, message, &made)
                                      : napi_create_error(env, code, message, &made);
  if (status != napi_ok) return nullptr;
  if (error.kind == FileError::Kind::kSystem) {
    builder.Set(made, "errno", builder.Number(-error.number));
    builder.Set(made, "syscall", builder.String(error.call));
  }
  builder.Set(made, "path", builder.String(attempt.path));
  if (!attempt.to.empty()) builder.Set(made, "dest", builder.String(attempt.to));
  return made;
}

napi_value FileValue(ValueBuilder& builder, Done) {
  return builder.Undefined();
}

napi_value FileValue(ValueBuilder& builder, Bytes bytes) {
  return builder.TakenBytes(std::move(bytes));
}

napi_value FileValue(ValueBuilder& builder, const FileStat& stat) {
  napi_value made = builder.Object();
  builder.Set(made, "type", builder.String(TypeName(stat.type)));
  builder.Set(made, "size", builder.Number(static_cast<double>(stat.size)));
  builder.Set(made, "mode", builder.Number(stat.mode));
  builder.Set(made, "mtimeMs", builder.Number(stat.modified_ms));
  builder.Set(made, "version", builder.String(stat.version.Text()));
  return made;
}

napi_value FileValue(ValueBuilder& builder, const std::vector<ListedEntry>& entries) {
  std::vector<napi_value> made;
  made.reserve(entries.size());
  for (const ListedEntry& entry : entries) {
    const std::string path = AsGiven(entry.path);
    napi_value each = builder.Object();
    builder.Set(each, "path", builder.String(path));
    builder.Set(each, "type", builder.String(TypeName(entry.type)));
    if (!IsUtf8(path)) {
      const auto* bytes = reinterpret_cast<const std::uint8_t*>(path.data());
      builder.Set(each, "pathBytes", builder.CopiedBytes(bytes, path.size()));
    }
    made.push_back(each);
  }
  return builder.Array(made);
}

napi_value FileValue(ValueBuilder& builder, const Survey& survey) {
  napi_value made = builder.Object();
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(survey.numbers.data());
  const std::size_t size = survey.numbers.size() * sizeof(std::uint64_t);
  builder.Set(made, "text", builder.String(survey.text));
  builder.Set(made, "numbers", builder.CopiedBytes(bytes, size));
  return made;
}

}  // namespace native_runner
