#include "addon/workspace/host_paths.h"

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "addon/convert/fields.h"
#include "addon/environment/environment_state.h"
#include "supervise/host/program.h"
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

namespace {

constexpr std::size_t kStatusFields = 7;

// lookAt(path, follows, status): fills mode, uid, gid, device, inode, the milliseconds of the
// last change, and size. False: there is nothing, or it can't be reached.
Napi::Value FillStatus(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!info[0].IsString() || !info[1].IsBoolean() || !info[2].IsTypedArray())
    return Napi::Boolean::New(env, false);
  auto fields = info[2].As<Napi::Float64Array>();
  const std::string path = info[0].As<Napi::String>();
  const int flags = info[1].As<Napi::Boolean>().Value() ? 0 : AT_SYMLINK_NOFOLLOW;
  constexpr unsigned kWanted =
      STATX_TYPE | STATX_MODE | STATX_UID | STATX_GID | STATX_INO | STATX_CTIME | STATX_SIZE;
  struct statx status {};
  if (fields.ElementLength() < kStatusFields || path.find('\0') != std::string::npos ||
      statx(AT_FDCWD, path.c_str(), flags, kWanted, &status) != 0) {
    return Napi::Boolean::New(env, false);
  }
  constexpr double kMinorDevices = 1U << 20U;
  constexpr double kNsPerMs = 1e6;
  fields[0] = status.stx_mode;
  fields[1] = status.stx_uid;
  fields[2] = status.stx_gid;
  fields[3] = status.stx_dev_major * kMinorDevices + status.stx_dev_minor;
  fields[4] = static_cast<double>(status.stx_ino);
  fields[5] = static_cast<double>(Nanoseconds(status.stx_ctime)) / kNsPerMs;
  fields[6] = static_cast<double>(status.stx_size);
  return Napi::Boolean::New(env, true);
}

// Shared with a look that may be left behind.
struct Directories {
  std::vector<std::string> silent;
  std::vector<std::pair<std::string, bool>> asked;
  std::vector<ToolDirectory> found;
};

Napi::Array TextsOf(Napi::Env env, const std::vector<std::string>& texts) {
  Napi::Array all = Napi::Array::New(env, texts.size());
  for (std::size_t at = 0; at < texts.size(); ++at)
    all.Set(static_cast<std::uint32_t>(at), texts[at]);
  return all;
}

Napi::Object DirectoryValue(Napi::Env env, const ToolDirectory& directory) {
  Napi::Array links = Napi::Array::New(env, directory.links.size());
  for (std::size_t at = 0; at < directory.links.size(); ++at) {
    Napi::Object link = Napi::Object::New(env);
    link.Set("steps", TextsOf(env, directory.links[at].steps));
    if (!directory.links[at].interpreter.empty())
      link.Set("interpreter", directory.links[at].interpreter);
    links.Set(static_cast<std::uint32_t>(at), link);
  }
  Napi::Object value = Napi::Object::New(env);
  value.Set("links", links);
  value.Set("interpreters", TextsOf(env, directory.interpreters));
  return value;
}

// readToolDirectories(paths, readsScripts, silent): all of them in one look, which is left behind
// if one does not answer. Then there is nothing in any of them.
Napi::Value ReadToolDirectories(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Napi::Array all = Napi::Array::New(env);
  if (!info[0].IsArray() || !info[1].IsArray() || !info[2].IsArray()) return all;
  const auto paths = info[0].As<Napi::Array>();
  const auto with_scripts = info[1].As<Napi::Array>();
  const auto directories = std::make_shared<Directories>();
  for (std::uint32_t at = 0; at < paths.Length(); ++at) {
    const Napi::Value path = paths.Get(at);
    if (!path.IsString()) return all;
    directories->asked.emplace_back(path.As<Napi::String>(),
                                    with_scripts.Get(at).ToBoolean().Value());
  }
  const auto silent = info[2].As<Napi::Array>();
  for (std::uint32_t at = 0; at < silent.Length(); ++at)
    directories->silent.push_back(silent.Get(at).ToString());
  const auto look = [directories] {
    for (const auto& [path, reads_scripts] : directories->asked)
      directories->found.push_back(ReadToolDirectory(path, reads_scripts, directories->silent));
  };
  auto* state = static_cast<EnvironmentState*>(info.Data());
  const bool has_answered = !state->looks().Do("tool directories", look);
  for (std::uint32_t at = 0; has_answered && at < directories->found.size(); ++at)
    all.Set(at, DirectoryValue(env, directories->found[at]));
  return all;
}

}  // namespace

void DefineHostLooks(Napi::Env env, Napi::Object exports, EnvironmentState* state) {
  exports.Set("lookAt", Napi::Function::New(env, FillStatus, "lookAt"));
  exports.Set("readToolDirectories",
              Napi::Function::New(env, ReadToolDirectories, "readToolDirectories", state));
}

}  // namespace native_runner
