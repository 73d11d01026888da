#include "addon/workspace/path_stamps.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "addon/convert/fields.h"
#include "addon/environment/environment_state.h"
#include "supervise/os/file.h"
#include "supervise/os/file_threads.h"

namespace native_runner {
namespace {

struct Stamped {
  std::string path;
  PathStamp stamp;
};

// Shared with a look that may be left behind.
struct Stamps {
  std::vector<Stamped> all;
  std::atomic<bool> are_same = false;
};

void Compare(Stamps* stamps) {
  stamps->are_same = std::ranges::all_of(stamps->all, [](const Stamped& each) {
    NotePath(each.path);
    return StampOf(each.path) == each.stamp;
  });
}

// A PathStampsHandle (types/addon.d.ts). It keeps the paths, since to convert them for each run
// would cost more than to look at them. JavaScript thread.
class PathStampsObject : public Napi::ObjectWrap<PathStampsObject> {
 public:
  explicit PathStampsObject(const Napi::CallbackInfo& info)
      : Napi::ObjectWrap<PathStampsObject>(info),
        state_(static_cast<EnvironmentState*>(info.Data())) {
    if (!info[0].IsArray()) {
      Reader(info.Env()).Fail({ErrorCode::kInvalidType, "Expected an array of paths", ""});
      return;
    }
    const auto paths = info[0].As<Napi::Array>();
    for (std::uint32_t at = 0; at < paths.Length(); ++at) {
      const Napi::Value path = paths.Get(at);
      if (!path.IsString()) continue;
      std::string text = path.As<Napi::String>();
      const PathStamp stamp = StampOf(text);
      stamps_->all.push_back({std::move(text), stamp});
    }
  }

  static Napi::Function Define(Napi::Env env, EnvironmentState* state) {
    return DefineClass(env, "PathStamps", {InstanceMethod<&PathStampsObject::AreSame>("areSame")},
                       state);
  }

 private:
  // Files that do not answer have changed: whoever asks finds out which.
  Napi::Value AreSame(const Napi::CallbackInfo& info) {
    const auto look = [stamps = stamps_] { Compare(stamps.get()); };
    // A look that is left behind is in the way of no other object's.
    const std::string name = std::to_string(reinterpret_cast<std::uintptr_t>(stamps_.get()));
    const bool has_answered = !state_->looks().Do(name, look, kPatienceMs);
    return Napi::Boolean::New(info.Env(), has_answered && stamps_->are_same);
  }

  static constexpr std::uint64_t kPatienceMs = 200;

  EnvironmentState* state_;
  std::shared_ptr<Stamps> stamps_ = std::make_shared<Stamps>();
};

}  // namespace

void DefinePathStamps(Napi::Env env, Napi::Object exports, EnvironmentState* state) {
  exports.Set("PathStamps", PathStampsObject::Define(env, state));
}

}  // namespace native_runner
