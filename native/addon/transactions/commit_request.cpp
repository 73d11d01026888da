#include "addon/transactions/commit_request.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace native_runner {
namespace {

void ReadContents(Fields& fields, GivenContents* contents) {
  fields.Objects("contents", [contents](Fields& each) {
    std::string path = each.RequiredString("path");
    auto data = each.BytesOrText("data");
    if (!data) each.FailMissing("data", "a string or a Uint8Array");
    contents->insert_or_assign(std::move(path), data.value_or(std::vector<std::uint8_t>()));
  });
}

void ReadExpected(Fields& fields, CommitRequest* request) {
  if (!fields.Value("expected")) return;
  auto& expected = request->expected.emplace();
  fields.Objects("expected", [&expected](Fields& each) {
    std::string path = each.RequiredString("path");
    expected.insert_or_assign(std::move(path), each.RequiredString("version"));
  });
}

}  // namespace

PathFilter ReadPaths(Fields& fields, const char* field, bool else_none) {
  const auto paths = fields.Strings(field);
  if (!paths && !else_none) return PathFilter();
  auto filter = PathFilter::Of(paths.value_or(std::vector<std::string>()), field);
  if (filter) return std::move(*filter);
  fields.reader().Fail(filter.error());
  return PathFilter();
}

CommitRequest ReadCommitRequest(Fields& fields) {
  CommitRequest request;
  request.paths = ReadPaths(fields);
  if (fields.Boolean("exact").value_or(false)) request.paths = request.paths.Exactly();
  request.allowed = ReadPaths(fields, "allowProtected", true);
  request.protected_names = fields.RequiredStrings("protectedNames");
  ReadContents(fields, &request.contents);
  ReadExpected(fields, &request);
  return request;
}

}  // namespace native_runner
