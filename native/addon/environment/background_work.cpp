#include "addon/environment/background_work.h"

#include <array>
#include <optional>
#include <utility>

namespace native_runner {
namespace {

struct Background {
  std::function<Result<MakeValue>()> work;
  std::optional<Result<MakeValue>> done;
  napi_deferred deferred = nullptr;
  napi_async_work handle = nullptr;
};

void Execute(napi_env /*env*/, void* data) {
  auto* background = static_cast<Background*>(data);
  background->done.emplace(background->work());
}

void Settle(napi_env env, const Background& background) {
  if (!background.done) return;  // the environment was closed before the work began
  const Result<MakeValue>& done = *background.done;
  if (!done) {
    napi_reject_deferred(env, background.deferred, MakeJsError(env, done.error()));
    return;
  }
  ValueBuilder builder(env);
  napi_value value = done.value()(builder);
  if (builder.ok()) napi_resolve_deferred(env, background.deferred, value);
}

void Complete(napi_env env, napi_status /*status*/, void* data) {
  const std::unique_ptr<Background> background(static_cast<Background*>(data));
  napi_handle_scope scope = nullptr;
  if (napi_open_handle_scope(env, &scope) == napi_ok) {
    Settle(env, *background);
    napi_close_handle_scope(env, scope);
  }
  napi_delete_async_work(env, background->handle);
}

}  // namespace

napi_value DoInBackground(napi_env env, std::function<Result<MakeValue>()> work) {
  auto background = std::make_unique<Background>();
  background->work = std::move(work);
  napi_value promise = nullptr;
  napi_value name = nullptr;
  const bool is_begun =
      napi_create_string_utf8(env, "native-runner", NAPI_AUTO_LENGTH, &name) == napi_ok &&
      napi_create_promise(env, &background->deferred, &promise) == napi_ok &&
      napi_create_async_work(env, nullptr, name, Execute, Complete, background.get(),
                             &background->handle) == napi_ok &&
      napi_queue_async_work(env, background->handle) == napi_ok;
  if (!is_begun) {
    ThrowJsError(env, {ErrorCode::kClosed, "the Node environment is shutting down", ""});
    return nullptr;
  }
  static_cast<void>(background.release());  // Complete() owns it now
  return promise;
}

namespace {

struct Progress {
  std::uint64_t files;
  std::uint64_t bytes;
};

// `env` is null while the environment is closing.
void CallFunction(napi_env env, napi_value function, void* /*context*/, void* data) {
  const std::unique_ptr<Progress> progress(static_cast<Progress*>(data));
  if (env == nullptr) return;
  ValueBuilder builder(env);
  napi_value progress_value = builder.Object();
  builder.Set(progress_value, "files", builder.Number(static_cast<double>(progress->files)));
  builder.Set(progress_value, "bytes", builder.Number(static_cast<double>(progress->bytes)));
  builder.Call(function, std::array{progress_value});
}

}  // namespace

std::shared_ptr<ProgressCalls> ProgressCalls::Make(Napi::Env env, const Napi::Function& function) {
  constexpr std::size_t kMostWaiting = 16;
  napi_value name = nullptr;
  napi_threadsafe_function made = nullptr;
  if (napi_create_string_utf8(env, "native-runner", NAPI_AUTO_LENGTH, &name) != napi_ok ||
      napi_create_threadsafe_function(env, function, nullptr, name, kMostWaiting, 1, nullptr,
                                      nullptr, nullptr, CallFunction, &made) != napi_ok) {
    ThrowJsError(env, {ErrorCode::kClosed, "the Node environment is shutting down", ""});
    return nullptr;
  }
  static_cast<void>(napi_unref_threadsafe_function(env, made));
  return std::shared_ptr<ProgressCalls>(new ProgressCalls(made));
}

ProgressCalls::~ProgressCalls() {
  static_cast<void>(napi_release_threadsafe_function(function_, napi_tsfn_release));
}

void ProgressCalls::Report(std::uint64_t files, std::uint64_t bytes) const {
  auto progress = std::make_unique<Progress>(Progress{files, bytes});
  const auto called =
      napi_call_threadsafe_function(function_, progress.get(), napi_tsfn_nonblocking);
  if (called == napi_ok) static_cast<void>(progress.release());  // CallFunction() owns it now
}

}  // namespace native_runner
