#pragma once

#include <napi.h>

#include <cstdint>
#include <map>

#include "addon/environment/news.h"
#include "addon/values/value_builder.h"

namespace native_runner {

// The functions of JavaScript that one Node environment's networks by domain ask, by number. Each
// is kept alive by its runner's handle and not from here, since it may hold the runner: what was
// collected answers nothing. Questions keep no loop alive; the runs that wait for them do.
// JavaScript thread.
class NetworkAskers {
 public:
  explicit NetworkAskers(Napi::Env env) : env_(env) {}

  // Returns the asker's number, from 1 on. `handle` keeps `on_request` alive.
  std::uint64_t Add(Napi::Object handle, const Napi::Function& on_request);
  void Remove(std::uint64_t asker) { askers_.erase(asker); }
  void Clear();

  // False: nobody was asked.
  bool Deliver(news::Question question);
  void Deliver(const news::QuestionGone& gone);
  // It was answered.
  void Forget(std::uint64_t question) { asked_.erase(question); }

 private:
  bool Call(ValueBuilder& builder, std::uint64_t asker, std::uint64_t question, napi_value what);

  Napi::Env env_;
  std::map<std::uint64_t, Napi::FunctionReference> askers_;  // weak
  std::map<std::uint64_t, std::uint64_t> asked_;             // who, by question
  std::uint64_t last_asker_ = 0;
};

}  // namespace native_runner
