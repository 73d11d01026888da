#include "addon/transactions/progress_calls.h"

#include <array>

#include "addon/values/js_error.h"
#include "addon/values/value_builder.h"

namespace native_runner {
namespace {

struct Progress {
  std::uint64_t files;
  std::uint64_t bytes;
};

// `env` is null when the environment goes away.
void CallFunction(napi_env env, napi_value function, void* /*context*/, void* data) {
  const std::unique_ptr<Progress> progress(static_cast<Progress*>(data));
  if (env == nullptr) return;
  ValueBuilder builder(env);
  napi_value told = builder.Object();
  builder.Set(told, "files", builder.Number(static_cast<double>(progress->files)));
  builder.Set(told, "bytes", builder.Number(static_cast<double>(progress->bytes)));
  builder.Call(function, std::array{told});
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

void ProgressCalls::Tell(std::uint64_t files, std::uint64_t bytes) const {
  auto progress = std::make_unique<Progress>(Progress{files, bytes});
  const auto called =
      napi_call_threadsafe_function(function_, progress.get(), napi_tsfn_nonblocking);
  if (called == napi_ok) static_cast<void>(progress.release());  // CallFunction has it
}

}  // namespace native_runner
