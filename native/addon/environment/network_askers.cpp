#include "addon/environment/network_askers.h"

#include <array>

namespace native_runner {

std::uint64_t NetworkAskers::Add(Napi::Object handle, const Napi::Function& on_request) {
  handle.DefineProperty(Napi::PropertyDescriptor::Value("onRequest", on_request));
  askers_.emplace(++last_asker_, Napi::Weak(on_request));
  return last_asker_;
}

void NetworkAskers::Clear() {
  askers_.clear();
  asked_.clear();
}

bool NetworkAskers::Deliver(news::Question question) {
  const Napi::HandleScope handles(env_);
  ValueBuilder builder(env_);
  napi_value what = builder.Object();
  builder.Set(what, "host", builder.String(question.what.host));
  builder.Set(what, "port", builder.Number(question.what.port));
  builder.Set(what, "via", builder.String(ConnectionViaName(question.what.via)));
  if (!question.what.argv.empty()) {
    builder.Set(what, "command", builder.Strings(question.what.argv));
  }
  if (!builder.ok()) return false;
  asked_.emplace(question.question, question.asker);
  return Call(builder, question.asker, question.question, what);
}

void NetworkAskers::Deliver(const news::QuestionGone& gone) {
  const auto found = asked_.find(gone.question);
  if (found == asked_.end()) return;
  const std::uint64_t asker = found->second;
  asked_.erase(found);
  const Napi::HandleScope handles(env_);
  ValueBuilder builder(env_);
  Call(builder, asker, gone.question, builder.Undefined());
}

bool NetworkAskers::Call(ValueBuilder& builder, std::uint64_t asker, std::uint64_t question,
                         napi_value what) {
  const auto found = askers_.find(asker);
  if (found == askers_.end()) return false;
  const Napi::Function on_request = found->second.Value();
  if (on_request.IsEmpty()) return false;  // its runner was collected
  const std::array arguments = {builder.Number(static_cast<double>(question)), what};
  return builder.ok() && builder.CallBack(on_request, arguments);
}

}  // namespace native_runner
