#include "addon/values/denial_value.h"

namespace native_runner {
namespace {

napi_value ValueOf(ValueBuilder& builder, const Grant& grant) {
  switch (grant.kind) {
    case Grant::Kind::kMount: {
      napi_value mount = builder.Object();
      builder.Set(mount, "hostPath", builder.String(grant.host_path));
      builder.Set(mount, "guestPath", builder.String(grant.guest_path));
      builder.Set(mount, "mode", builder.String(grant.writable ? "rw" : "ro"));
      return mount;
    }
    case Grant::Kind::kPath:
      return builder.String(grant.host_path);
    case Grant::Kind::kText:
    case Grant::Kind::kList:
      return builder.String(grant.text);
    case Grant::Kind::kNumber:
      return builder.Number(static_cast<double>(grant.number));
    case Grant::Kind::kBoolean:
      return builder.Boolean(grant.number != 0);
    case Grant::Kind::kNone:
      break;
  }
  return builder.Undefined();
}

void SetText(ValueBuilder& builder, napi_value made, const char* key, const std::string& text) {
  if (!text.empty()) builder.Set(made, key, builder.String(text));
}

napi_value MakeDenial(ValueBuilder& builder, const Denial& denial) {
  napi_value made = builder.Object();
  builder.Set(made, "kind", builder.String(denial.kind));
  builder.Set(made, "operation", builder.String(denial.operation));
  SetText(builder, made, "path", denial.path);
  SetText(builder, made, "hostPath", denial.host_path);
  SetText(builder, made, "host", denial.host);
  if (denial.port != 0) builder.Set(made, "port", builder.Number(denial.port));
  SetText(builder, made, "program", denial.program);
  builder.Set(made, "errno", builder.String(denial.error));
  builder.Set(made, "by", builder.String(DeniedByName(denial.by)));
  builder.Set(made, "count", builder.Number(static_cast<double>(denial.count)));
  if (denial.grant.kind != Grant::Kind::kNone) {
    napi_value grant = builder.Object();
    builder.Set(grant, "option", builder.String(denial.grant.option));
    builder.Set(grant, "value", ValueOf(builder, denial.grant));
    builder.Set(made, "grant", grant);
  }
  SetText(builder, made, "notAdvised", denial.not_advised);
  return made;
}

}  // namespace

napi_value MakeDenials(ValueBuilder& builder, const std::vector<Denial>& denials) {
  if (denials.empty()) return builder.Undefined();
  std::vector<napi_value> made;
  made.reserve(denials.size());
  for (const Denial& denial : denials)
    made.push_back(MakeDenial(builder, denial));
  return builder.Array(made);
}

}  // namespace native_runner
