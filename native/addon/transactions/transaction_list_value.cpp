#include "addon/transactions/transaction_list_value.h"

#include <string>
#include <utility>
#include <vector>

#include "addon/convert/fields.h"
#include "addon/environment/background_work.h"
#include "effects/transaction/transaction_list.h"

namespace native_runner {
namespace {

constexpr double kNanosecondsInMs = 1e6;

const char* StateName(ListedTransaction::State state) {
  switch (state) {
    case ListedTransaction::State::kOpen:
      return "open";
    case ListedTransaction::State::kClosed:
      return "closed";
    case ListedTransaction::State::kTorn:
      return "torn";
  }
  return "";
}

napi_value ListedValue(ValueBuilder& builder, const ListedTransaction& listed) {
  const TransactionRecord& record = listed.record;
  napi_value value = builder.Object();
  builder.Set(value, "id", builder.String(record.id));
  builder.Set(value, "workspace", builder.String(record.workspace));
  const double created_ms = static_cast<double>(record.created_ns) / kNanosecondsInMs;
  builder.Set(value, "createdMs", builder.Number(created_ms));
  builder.Set(value, "backend", builder.String(record.backend));
  builder.Set(value, "state", builder.String(StateName(listed.state)));
  if (const char* recovered = RecoveredName(listed.recovered)) {
    builder.Set(value, "recovered", builder.String(recovered));
  }
  if (listed.has_commit) builder.Set(value, "committed", builder.Boolean(true));
  return value;
}

// A promise of those in the directory that the options name.
Napi::Value List(const Napi::CallbackInfo& info) {
  Reader reader(info.Env());
  std::string directory;
  Fields::Of(reader, info[0], {"options", ""},
             [&directory](Fields& fields) { directory = fields.RequiredString("directory"); });
  if (reader.failed()) return info.Env().Undefined();
  const auto work = [directory = std::move(directory)]() -> Result<MakeValue> {
    auto all = ListTransactions(directory);
    if (!all) return all.error();
    return MakeValue([all = std::move(*all)](ValueBuilder& builder) {
      std::vector<napi_value> values;
      values.reserve(all.size());
      for (const ListedTransaction& listed : all)
        values.push_back(ListedValue(builder, listed));
      return builder.Array(values);
    });
  };
  napi_value promise = DoInBackground(info.Env(), work);
  return promise == nullptr ? info.Env().Undefined() : Napi::Value(info.Env(), promise);
}

}  // namespace

const char* RecoveredName(Recovered recovered) {
  switch (recovered) {
    case Recovered::kNothing:
      return nullptr;
    case Recovered::kRolledBack:
      return "rolled-back";
    case Recovered::kCompleted:
      return "completed";
    case Recovered::kTorn:
      return "torn";
  }
  return nullptr;
}

void DefineTransactionList(Napi::Env env, Napi::Object exports) {
  exports.Set("listTransactions", Napi::Function::New(env, List, "listTransactions"));
}

}  // namespace native_runner
