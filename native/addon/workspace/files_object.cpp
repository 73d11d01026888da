#include "addon/workspace/files_object.h"

#include <uv.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "addon/convert/run_input.h"
#include "addon/values/value_builder.h"
#include "addon/workspace/transaction_object.h"
#include "policy/text/text.h"
#include "workspace/files/workspace_files.h"

namespace native_runner {
namespace {

// Runs one file operation on a thread of libuv's pool, and settles the promise of its result. Node
// waits for it before it ends an environment; the promise is not settled then.
template <typename Value>
class FileCall {
 public:
  // `operation` owns all that it uses. Returns undefined, with an exception pending, if no promise
  // can be made.
  static Napi::Value Start(Napi::Env env, FileAttempt attempt,
                           std::function<FileResult<Value>()> operation) {
    std::unique_ptr<FileCall> call(new FileCall(std::move(attempt), std::move(operation)));
    napi_value promise = nullptr;
    napi_value name = nullptr;
    if (napi_create_promise(env, &call->deferred_, &promise) != napi_ok ||
        napi_create_string_utf8(env, "native-runner", NAPI_AUTO_LENGTH, &name) != napi_ok ||
        napi_create_async_work(env, nullptr, name, Execute, Complete, call.get(), &call->work_) !=
            napi_ok) {
      return env.Undefined();
    }
    if (napi_queue_async_work(env, call->work_) != napi_ok) {
      napi_delete_async_work(env, call->work_);
      return env.Undefined();
    }
    static_cast<void>(call.release());  // Complete() owns it now
    return {env, promise};
  }

 private:
  FileCall(FileAttempt attempt, std::function<FileResult<Value>()> operation)
      : attempt_(std::move(attempt)), operation_(std::move(operation)) {}

  static void Execute(napi_env, void* self) {  // on the pool's thread
    auto* call = static_cast<FileCall*>(self);
    call->result_.emplace(call->operation_());
  }

  static void Complete(napi_env env, napi_status, void* self) {
    const std::unique_ptr<FileCall> call(static_cast<FileCall*>(self));
    napi_delete_async_work(env, call->work_);
    if (call->result_) call->Settle(env);
  }

  void Settle(napi_env env) {
    if (!result_->ok()) {
      napi_value error = MakeFileError(env, result_->error(), attempt_);
      if (error != nullptr) napi_reject_deferred(env, deferred_, error);
      return;
    }
    ValueBuilder builder(env);
    napi_value value = FileValue(builder, std::move(result_->value()));
    if (builder.ok()) napi_resolve_deferred(env, deferred_, value);
  }

  FileAttempt attempt_;
  std::function<FileResult<Value>()> operation_;
  std::optional<FileResult<Value>> result_;
  napi_deferred deferred_ = nullptr;
  napi_async_work work_ = nullptr;
};

// Reads the options of a call, which may be left out.
template <typename Read>
auto OptionsOf(Reader& reader, const Napi::Value& value, const Read& read) {
  const Napi::Value options = value.IsUndefined() ? Napi::Object::New(reader.env()) : value;
  decltype(read(std::declval<Fields&>())) made{};
  Fields::Of(reader, options, {"options", ""}, [&](Fields& fields) { made = read(fields); });
  return made;
}

class FilesObject : public Napi::ObjectWrap<FilesObject> {
 public:
  explicit FilesObject(const Napi::CallbackInfo& info) : ObjectWrap(info) {
    Reader reader(info.Env());
    WorkspaceRights rights;
    Fields::Of(reader, info[0], {"options", ""},
               [&](Fields& options) { rights = ReadWorkspaceRights(options, &workspace_); });
    if (reader.failed()) return;
    if (const auto transaction = ReadTransaction(reader, info[1]))
      rights.open = transaction->Files();
    if (reader.failed()) return;
    files_ = std::make_shared<const WorkspaceFiles>(std::move(rights));
  }

  static Napi::Function Define(Napi::Env env) {
    return DefineClass(
        env, "WorkspaceFiles",
        {InstanceMethod("read", &FilesObject::Read), InstanceMethod("write", &FilesObject::Write),
         InstanceMethod("list", &FilesObject::List), InstanceMethod("stat", &FilesObject::Stat),
         InstanceMethod("survey", &FilesObject::TakeSurvey),
         InstanceMethod("mkdir", &FilesObject::Make),
         InstanceMethod("rename", &FilesObject::Rename),
         InstanceMethod("remove", &FilesObject::Remove)});
  }

 private:
  using Files = std::shared_ptr<const WorkspaceFiles>;

  // `operation` receives the files and the path; nothing is started after a fault.
  template <typename Operation>
  Napi::Value Start(const Reader& reader, PathInput path, Operation operation) {
    using Answer = decltype(operation(*files_, path.relative));
    using Value = std::decay_t<decltype(std::declval<Answer&>().value())>;
    if (reader.failed()) return reader.env().Undefined();
    return FileCall<Value>::Start(
        reader.env(), {std::move(path.given), ""},
        [files = files_, relative = std::move(path.relative), operation = std::move(operation)] {
          return operation(*files, relative);
        });
  }

  Napi::Value Read(const Napi::CallbackInfo& info) {
    Reader reader(info.Env());
    PathInput path = ReadPath(reader, info[0], {"read", "path", workspace_});
    const std::uint64_t most = OptionsOf(reader, info[1], ReadMaxBytes);
    return Start(reader, std::move(path),
                 [most](const WorkspaceFiles& files, const std::string& relative) {
                   return files.Read(relative, most);
                 });
  }

  Napi::Value Write(const Napi::CallbackInfo& info) {
    Reader reader(info.Env());
    PathInput path = ReadPath(reader, info[0], {"write", "path", workspace_});
    std::vector<std::uint8_t> data = ReadData(reader, info[1]);
    const WriteRule rule = OptionsOf(reader, info[2], ReadWriteRule);
    return Start(
        reader, std::move(path),
        [rule, data = std::move(data)](const WorkspaceFiles& files, const std::string& relative) {
          return files.Write(relative, data, rule);
        });
  }

  Napi::Value List(const Napi::CallbackInfo& info) {
    Reader reader(info.Env());
    PathInput path = ReadPath(reader, info[0], {"list", "path", workspace_});
    const ListRule rule = OptionsOf(reader, info[1], ReadListRule);
    return Start(reader, std::move(path),
                 [rule](const WorkspaceFiles& files, const std::string& relative) {
                   return files.List(relative, rule);
                 });
  }

  Napi::Value Stat(const Napi::CallbackInfo& info) {
    Reader reader(info.Env());
    PathInput path = ReadPath(reader, info[0], {"stat", "path", workspace_});
    return Start(reader, std::move(path),
                 [](const WorkspaceFiles& files, const std::string& relative) {
                   return files.Stat(relative);
                 });
  }

  // Surveys the whole workspace; for lib/ itself, which makes its own options.
  Napi::Value TakeSurvey(const Napi::CallbackInfo& info) {
    Reader reader(info.Env());
    const ListRule rule = OptionsOf(reader, info[0], ReadListRule);
    return Start(reader, {}, [most = rule.most](const WorkspaceFiles& files, const std::string&) {
      return files.TakeSurvey(most);
    });
  }

  Napi::Value Make(const Napi::CallbackInfo& info) {
    Reader reader(info.Env());
    PathInput path = ReadPath(reader, info[0], {"mkdir", "path", workspace_});
    const MakeRule rule = OptionsOf(reader, info[1], ReadMakeRule);
    return Start(reader, std::move(path),
                 [rule](const WorkspaceFiles& files, const std::string& relative) {
                   return files.Make(relative, rule);
                 });
  }

  Napi::Value Rename(const Napi::CallbackInfo& info) {
    Reader reader(info.Env());
    PathInput from = ReadPath(reader, info[0], {"rename", "from", workspace_});
    PathInput to = ReadPath(reader, info[1], {"rename", "to", workspace_});
    if (reader.failed()) return info.Env().Undefined();
    return FileCall<Done>::Start(info.Env(), {std::move(from.given), std::move(to.given)},
                                 [files = files_, from = std::move(from.relative),
                                  to = std::move(to.relative)] { return files->Rename(from, to); });
  }

  Napi::Value Remove(const Napi::CallbackInfo& info) {
    Reader reader(info.Env());
    PathInput path = ReadPath(reader, info[0], {"remove", "path", workspace_});
    const bool recursive = OptionsOf(reader, info[1], ReadRecursive);
    return Start(reader, std::move(path),
                 [recursive](const WorkspaceFiles& files, const std::string& relative) {
                   return files.Remove(relative, recursive);
                 });
  }

  std::string workspace_;  // where commands see it
  Files files_;            // null only when the constructor threw
};

// Makes a FIFO at a path, given as bytes, with these permissions.
Napi::Value MakeFifoAt(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!info[0].IsTypedArray() || !info[1].IsNumber()) {
    Reader(env).Fail({ErrorCode::kInvalidType, "Expected the bytes of a path and a mode", ""});
    return env.Undefined();
  }
  const auto bytes = info[0].As<Napi::Uint8Array>();
  const std::string path(reinterpret_cast<const char*>(bytes.Data()), bytes.ByteLength());
  const auto made = MakeFifo(path, info[1].As<Napi::Number>().Uint32Value());
  if (made) return env.Undefined();
  napi_value error = MakeFileError(env, made.error(), {.path = path, .to = {}});
  if (error != nullptr) napi_throw(env, error);
  return env.Undefined();
}

// Resolves when the disk keeps what was written to the file system of an open file.
Napi::Value SyncFileSystemOf(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!info[0].IsNumber()) {
    Reader(env).Fail({ErrorCode::kInvalidType, "Expected a file descriptor", ""});
    return env.Undefined();
  }
  const int fd = info[0].As<Napi::Number>().Int32Value();
  return FileCall<Done>::Start(env, {}, [fd] { return SyncFileSystem(fd); });
}

}  // namespace

void DefineWorkspaceFiles(Napi::Env env, Napi::Object exports) {
  exports.Set("WorkspaceFiles", FilesObject::Define(env));
  exports.Set("makeFifo", Napi::Function::New(env, MakeFifoAt, "makeFifo"));
  exports.Set("syncFileSystem", Napi::Function::New(env, SyncFileSystemOf, "syncFileSystem"));
}

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
