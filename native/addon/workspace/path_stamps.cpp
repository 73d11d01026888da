#include "addon/workspace/path_stamps.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "addon/convert/fields.h"
#include "supervise/os/file.h"

namespace native_runner {
namespace {

// A PathStampsHandle (types/addon.d.ts). It keeps the paths, since to convert them for each run
// would cost more than to look at them. JavaScript thread.
class PathStampsObject : public Napi::ObjectWrap<PathStampsObject> {
 public:
  explicit PathStampsObject(const Napi::CallbackInfo& info)
      : Napi::ObjectWrap<PathStampsObject>(info) {
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
      stamped_.push_back({std::move(text), stamp});
    }
  }

  static Napi::Function Define(Napi::Env env) {
    return DefineClass(env, "PathStamps", {InstanceMethod<&PathStampsObject::AreSame>("areSame")});
  }

 private:
  struct Stamped {
    std::string path;
    PathStamp stamp;
  };

  Napi::Value AreSame(const Napi::CallbackInfo& info) {
    const bool are_same = std::all_of(stamped_.begin(), stamped_.end(), [](const Stamped& each) {
      return StampOf(each.path) == each.stamp;
    });
    return Napi::Boolean::New(info.Env(), are_same);
  }

  std::vector<Stamped> stamped_;
};

}  // namespace

void DefinePathStamps(Napi::Env env, Napi::Object exports) {
  exports.Set("PathStamps", PathStampsObject::Define(env));
}

}  // namespace native_runner
