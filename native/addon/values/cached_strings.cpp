#include "addon/values/cached_strings.h"

#include <algorithm>

namespace native_runner {

napi_value CachedStrings::Get(ValueBuilder& builder, std::span<const std::string> strings) {
  if (!array_.IsEmpty() && std::ranges::equal(strings_, strings)) return array_.Value();
  napi_value array = builder.Strings(strings);
  if (!builder.ok()) return nullptr;
  array_ = Napi::Persistent(Napi::Object(builder.env(), array));
  strings_.assign(strings.begin(), strings.end());
  return array;
}

}  // namespace native_runner
