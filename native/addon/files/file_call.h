#pragma once

#include <napi.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "addon/values/file_values.h"
#include "addon/values/value_builder.h"

namespace native_runner {

// One operation on files, on a thread of libuv's pool, and the promise of its result. Node waits
// for it before it ends an environment; then nobody is told any more.
template <typename Value>
class FileCall {
 public:
  // `operation` owns all that it uses. Undefined, with an exception pending, where there can be no
  // promise.
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
    call.release();  // Complete's
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

}  // namespace native_runner
