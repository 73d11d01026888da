#include "addon/runners/lease_object.h"

#include <cstdint>
#include <utility>

#include "supervise/lease/lease_clock.h"

namespace native_runner {
namespace {

constexpr napi_type_tag kLeaseTag = {0x6f70656e61676e74, 0x6c656173652d2d2d};

// JavaScript thread.
class LeaseObject : public Napi::ObjectWrap<LeaseObject> {
 public:
  explicit LeaseObject(const Napi::CallbackInfo& info)
      : Napi::ObjectWrap<LeaseObject>(info), state_(static_cast<EnvironmentState*>(info.Data())) {
    Reader reader(info.Env());
    Fields::Of(reader, info[0], {"options", ""}, [this](Fields& options) {
      const auto term = options.Integer("ms", 1, Lease::kMostMs);
      if (!term) return options.FailMissing("ms", "a number");
      lease_ = std::make_shared<Lease>(*term, LeaseNow());
    });
    if (reader.failed()) return;
    static_cast<void>(napi_type_tag_object(info.Env(), info.This(), &kLeaseTag));
  }

  static Napi::Function Define(Napi::Env env, EnvironmentState* state) {
    return DefineClass(env, "Lease",
                       {InstanceMethod<&LeaseObject::Renew>("renew"),
                        InstanceMethod<&LeaseObject::HasExpired>("hasExpired"),
                        InstanceMethod<&LeaseObject::Term>("term")},
                       state);
  }

  std::shared_ptr<const Lease> lease() const { return lease_; }

 private:
  Napi::Value Renew(const Napi::CallbackInfo& info) {
    const bool holds = lease_->Renew(LeaseNow());
    if (holds) state_->TellRenewed(lease_);
    return Napi::Boolean::New(info.Env(), holds);
  }
  Napi::Value HasExpired(const Napi::CallbackInfo& info) {
    return Napi::Boolean::New(info.Env(), lease_->HasEnded(LeaseNow()));
  }
  Napi::Value Term(const Napi::CallbackInfo& info) {
    return Napi::Number::New(info.Env(), static_cast<double>(lease_->term_ms()));
  }

  EnvironmentState* state_;       // lives as long as the environment runs JavaScript
  std::shared_ptr<Lease> lease_;  // null only when the constructor threw
};

}  // namespace

void DefineLease(Napi::Env env, Napi::Object exports, EnvironmentState* state) {
  exports.Set("Lease", LeaseObject::Define(env, state));
}

std::shared_ptr<const Lease> ReadLease(Fields& input) {
  constexpr const char* kKey = "lease";
  const auto value = input.Value(kKey);
  if (!value) return nullptr;
  bool is_one = false;
  if (value->IsObject() &&
      napi_check_object_type_tag(input.reader().env(), *value, &kLeaseTag, &is_one) == napi_ok &&
      is_one) {
    return LeaseObject::Unwrap(value->As<Napi::Object>())->lease();
  }
  input.Fail(kKey, ErrorCode::kInvalidType, "a Lease", *value);
  return nullptr;
}

}  // namespace native_runner
