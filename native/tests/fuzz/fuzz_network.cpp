// Data of a hostile command for the relay, and rules, made of arbitrary bytes: each reader stays
// within them, has the same result in whatever pieces they come, and reads its own output as the
// same again. Spellings of addresses are compared with the C library's.
#include <arpa/inet.h>
#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/network/dns.h"
#include "policy/network/host_name.h"
#include "policy/network/http.h"
#include "policy/network/ip_address.h"
#include "policy/network/network_rules.h"
#include "policy/network/socks.h"
#include "policy/network/tls_client_hello.h"

namespace {

using namespace native_runner;  // NOLINT(google-build-using-namespace): a test of one room
using Bytes = std::vector<std::uint8_t>;

void Require(bool condition) {
  if (!condition) std::abort();
}

void CheckAddress(const IpAddress& address) {
  const std::string text = IpText(address);
  Require(ParseIpAddress(text) == address && ParsePlainIpAddress(text) == address);
  Require(*AddressKindName(KindOf(address)) != '\0');
  for (const unsigned length : {0U, 1U, 9U, 31U, 32U, 97U, 128U}) {
    const Cidr block = BlockOf(address, length);
    Require(block.Contains(address));
    const auto again = ParseCidr(CidrText(block));
    Require(again && again->base == block.base && again->length == block.length);
  }
}

void CheckName(const HostName& name) {
  const std::string& text = name.text();
  Require(!text.empty() && text.size() <= 253 && !ParseIpAddress(text));
  constexpr std::string_view kCharacters = "abcdefghijklmnopqrstuvwxyz0123456789-_.";
  Require(text.find_first_not_of(kCharacters) == std::string::npos);
  Require(ParseHostName(text).ok() && ParseHostName(text + ".").value() == name);
  Require(!name.IsBelow(name));
}

// Whatever the C library connects to is an address here, and the same one.
void CompareWithLibrary(const std::string& text) {
  const bool is_plain =
      text.find_first_of(std::string_view(" \t\n\v\f\r\0", 7)) == std::string::npos;
  in_addr v4{};
  if (is_plain && text.size() < 200 && inet_aton(text.c_str(), &v4) != 0) {
    Require(ParseIpAddress(text) == IpAddress::V4(ntohl(v4.s_addr)));
  }
  in6_addr v6{};
  if (is_plain && inet_pton(AF_INET6, text.c_str(), &v6) == 1) {
    IpAddress::V6Bytes bytes{};
    std::memcpy(bytes.data(), &v6, bytes.size());
    Require(ParseIpAddress(text) == IpAddress::V6(bytes));
  }
}

void FuzzHost(const std::string& text) {
  CompareWithLibrary(text);
  if (const auto host = ParseHost(text)) {
    const HostName* name = std::get_if<HostName>(&host.value());
    if (name != nullptr) CheckName(*name);
    if (name == nullptr) CheckAddress(std::get<IpAddress>(host.value()));
    Require(ParseHost(HostText(host.value())).value() == host.value());
  }
  if (text.size() > 63) return;
  const auto points = DecodePunycode(text);
  if (points && points->size() < 63) Require(DecodePunycode(EncodePunycode(*points)).has_value());
}

void FuzzRules(FuzzedDataProvider& data) {
  NetworkRuleTexts texts;
  for (auto* list : {&texts.allow, &texts.deny, &texts.allow_private, &texts.host_ports}) {
    while (list->size() < 4 && data.ConsumeBool())
      list->push_back(data.ConsumeRandomLengthString(48));
  }
  const auto port = data.ConsumeIntegral<std::uint16_t>();
  const std::string asked = data.ConsumeRemainingBytesAsString();
  const auto read = ReadNetworkRules(texts);
  if (!read) {
    Require(read.error().message.starts_with("Expected `network."));
    return;
  }
  const NetworkRules& rules = read.value();
  NetworkRuleTexts again;
  for (const HostRule& rule : rules.allow)
    again.allow.push_back(rule.text());
  for (const HostRule& rule : rules.deny)
    again.deny.push_back(rule.text());
  for (const PrivateRule& rule : rules.allow_private)
    again.allow_private.push_back(rule.text());
  for (const HostPort& entry : rules.host_ports) {
    again.host_ports.push_back(entry.text());
    Require(KindOf(entry.address) == AddressKind::kLoopback);
  }
  Require(NetworkRulesText(ReadNetworkRules(again).value()) == NetworkRulesText(rules));
  for (const HostRule& rule : rules.deny) {
    if (rule.pattern.is_wildcard || (rule.port && *rule.port != port)) continue;
    Require(DecideConnection(rules, rule.pattern.name, port).verdict == Verdict::kDenied);
  }
  const auto host = ParseHost(asked);
  if (!host) return;
  const Decision decision = DecideConnection(rules, host.value(), port);
  if (decision.verdict != Verdict::kAllowed) return;
  const auto ports = PortsOf(rules);
  Require(std::find(ports.begin(), ports.end(), port) != ports.end());
  const HostName& name = std::get<HostName>(host.value());
  Require(DecideName(rules, name).verdict == Verdict::kAllowed);
  Require(DecideAddress(rules, name, IpAddress()).verdict == Verdict::kDenied);
}

void CheckDns(const Bytes& message) {
  const auto query = DecodeDnsQuery(message);
  if (!query) return;
  Require(query->question_end <= message.size());
  Require(query->code != DnsCode::kNoError || query->question_end > 12);
  DnsAnswer answer;
  for (std::uint32_t i = 0; i < 50; ++i)
    answer.addresses.push_back(IpAddress::V4(0x7f010001 + i));
  for (const DnsTransport transport : {DnsTransport::kUdp, DnsTransport::kTcp}) {
    Bytes sent = EncodeDnsAnswer(*query, message, answer, transport);
    if (transport == DnsTransport::kTcp) {
      const auto whole = FirstDnsMessage(sent);
      Require(whole && whole->size() + 2 == sent.size());
      sent.erase(sent.begin(), sent.begin() + 2);
    }
    Require(sent.size() >= 12 &&
            (transport == DnsTransport::kTcp || sent.size() <= kMostUdpAnswer));
    Require(sent[0] == message[0] && sent[1] == message[1]);
    Require(!DecodeDnsQuery(sent).has_value());  // an answer gets none
  }
  const auto name = ParseHostName(query->name);
  if (name) CheckName(name.value());
}

void FuzzDns(const Bytes& bytes) {
  CheckDns(bytes);
  // Once more behind the header of one question and an additional record.
  Bytes message = {1, 2, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1};
  message.insert(message.end(), bytes.begin(), bytes.end());
  CheckDns(message);
}

void AddLength(Bytes* bytes, std::size_t length) {
  bytes->push_back(static_cast<std::uint8_t>(length >> 8));
  bytes->push_back(static_cast<std::uint8_t>(length));
}

// The state after the bytes in pieces of that size.
HelloReader ReadHello(std::span<const std::uint8_t> bytes, std::size_t piece) {
  HelloReader reader;
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(piece, bytes.size())))
    reader.Feed(bytes.first(std::min(piece, bytes.size())));
  return reader;
}

void FuzzTls(const Bytes& bytes, std::size_t piece) {
  const HelloReader whole = ReadHello(bytes, bytes.size() + 1);
  const HelloReader pieces = ReadHello(bytes, piece);
  Require(whole.state() == pieces.state());
  Require(whole.hello().server_name == pieces.hello().server_name);
  Require((whole.state() == HelloState::kHasName) == whole.hello().server_name.has_value());
  if (whole.hello().server_name) CheckName(*whole.hello().server_name);

  // Once more as extensions of a hello that is otherwise fine, so that they are reached.
  if (bytes.size() > 1000) return;
  Bytes body(2 + 32 + 1, 0);  // version, random, no session
  body.insert(body.end(), {0, 2, 0x13, 1, 1, 0});
  AddLength(&body, bytes.size());
  body.insert(body.end(), bytes.begin(), bytes.end());
  const auto hello = DecodeClientHello(body);
  Bytes record = {22, 3, 1};
  AddLength(&record, body.size() + 4);
  record.insert(record.end(), {1, 0});
  AddLength(&record, body.size());
  record.insert(record.end(), body.begin(), body.end());
  const HelloReader reader = ReadHello(record, piece);
  Require(hello.has_value() == (reader.state() != HelloState::kMalformed));
  Require(reader.state() != HelloState::kNeedsMore && reader.state() != HelloState::kNotTls);
  if (hello && hello->server_name) CheckName(*hello->server_name);
}

// A reader as strict as ours reads the forwarded bytes as one request with the same meaning.
void CheckForwarded(const HttpRequest& request) {
  if (request.form == HttpForm::kAuthority || request.fields.size() > 200) return;
  const std::string head = ForwardedHead(request, request.closes);
  HeadReader reader;
  Require(head.size() >= HeadReader::kMostBytes || reader.Feed(head + "x") == head.size());
  const auto read = ParseHttpRequest(head);
  Require(read.ok());
  const HttpRequest& again = read.value();
  Require(again.method == request.method && again.path == request.path);
  Require(again.host == request.host && again.port.value_or(80) == request.port.value_or(80));
  Require(again.content_length == request.content_length && again.is_chunked == request.is_chunked);
  Require(again.upgrades_to_websocket == request.upgrades_to_websocket);
  Require(request.upgrades_to_websocket || again.closes == request.closes);
  Require(ForwardedHead(again, again.closes) == head || request.upgrades_to_websocket);
}

void FuzzBody(const HttpRequest& request, std::string_view bytes, std::size_t piece) {
  BodyReader whole(request);
  const std::size_t taken = whole.Feed(bytes);
  BodyReader pieces(request);
  std::size_t sum = 0;
  for (std::size_t at = 0; at < bytes.size(); at += piece)
    sum += pieces.Feed(bytes.substr(at, piece));
  Require(taken == sum && taken <= bytes.size() && whole.state() == pieces.state());
  Require(whole.state() != BodyState::kNeedsMore || taken == bytes.size());
}

bool IsSameRequest(const HttpRequest& a, const HttpRequest& b) {
  const auto is_same = [](const HttpField& x, const HttpField& y) {
    return x.name == y.name && x.value == y.value;
  };
  return a.method == b.method && a.path == b.path && a.host == b.host && a.port == b.port &&
         std::equal(a.fields.begin(), a.fields.end(), b.fields.begin(), b.fields.end(), is_same);
}

// An answer ends at the same byte whatever the pieces, and what is put behind its head changes
// nothing about how that is read.
void FuzzResponse(const std::string& bytes, std::size_t piece) {
  for (const std::string& answer : {bytes, "HTTP/1.1 200 OK\r\n" + bytes}) {
    ResponseReader whole{HttpRequest{}};
    const std::size_t taken = whole.Feed(answer);
    ResponseReader pieces{HttpRequest{}};
    std::size_t sum = 0;
    for (std::size_t at = 0; at < answer.size(); at += piece)
      sum += pieces.Feed(std::string_view(answer).substr(at, piece));
    Require(taken == sum && taken <= answer.size() && whole.state() == pieces.state());
    Require(whole.status() == pieces.status() && whole.keeps() == pieces.keeps());
  }
}

void FuzzHttp(const std::string& bytes, std::size_t piece) {
  HeadReader whole;
  const std::size_t taken = whole.Feed(bytes);
  HeadReader pieces;
  for (std::size_t at = 0; at < bytes.size(); at += piece)
    pieces.Feed(std::string_view(bytes).substr(at, piece));
  Require(whole.state() == pieces.state());
  Require(whole.state() != HeadState::kMalformed || whole.fault() == pieces.fault());
  Require(whole.state() != HeadState::kComplete ||
          IsSameRequest(whole.request(), pieces.request()));

  // Once more with what is likely to be read further.
  const std::string own = bytes.substr(0, taken);
  for (const std::string& head : {own, "GET " + bytes, bytes + "\r\n\r\n",
                                  "POST / HTTP/1.1\r\nHost: a.test\r\n" + bytes + "\r\n\r\n"}) {
    const auto request = ParseHttpRequest(head);
    if (!request) continue;
    CheckForwarded(request.value());
    if (head == own) FuzzBody(request.value(), std::string_view(bytes).substr(taken), piece);
  }
  HttpRequest chunked;
  chunked.is_chunked = true;
  FuzzBody(chunked, bytes, piece);
  FuzzResponse(bytes, piece);
}

void FuzzSocks(Bytes bytes) {
  const SocksGreeting greeting = ReadSocksGreeting(bytes);
  const SocksRequest request = ReadSocksRequest(bytes);
  Require(greeting.size <= std::min<std::size_t>(bytes.size(), 257));
  Require(request.size <= std::min<std::size_t>(bytes.size(), 262));
  Require(request.state == SocksState::kComplete || request.size == 0);
  if (request.reply == SocksReply::kSucceeded && request.state == SocksState::kComplete) {
    const HostName* name = std::get_if<HostName>(&request.host);
    if (name != nullptr) CheckName(*name);
    Require(request.port != 0);
  }
  Require(bytes.size() < 262 || request.state != SocksState::kNeedsMore);
  bytes.push_back(0);
  const SocksRequest more = ReadSocksRequest(bytes);
  Require(request.state != SocksState::kComplete ||
          (more.size == request.size && more.host == request.host));
}

void FuzzSynthetic(const std::string& text) {
  SyntheticAddresses addresses;
  const auto name = ParseHostName(text);
  if (!name) return;
  const auto pair = addresses.Assign(name.value());
  Require(*addresses.NameOf(pair->v4) == name.value());
  Require(*addresses.NameOf(pair->v6) == name.value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  FuzzedDataProvider data(bytes, size);
  const auto kind = data.ConsumeIntegralInRange<int>(0, 5);
  if (kind == 0) {
    FuzzRules(data);
    return 0;
  }
  const auto piece = data.ConsumeIntegralInRange<std::size_t>(1, 64);
  const Bytes rest = data.ConsumeRemainingBytes<std::uint8_t>();
  const std::string text(rest.begin(), rest.end());
  switch (kind) {
    case 1:
      FuzzHost(text);
      FuzzSynthetic(text);
      return 0;
    case 2:
      FuzzDns(rest);
      return 0;
    case 3:
      FuzzTls(rest, piece);
      return 0;
    case 4:
      FuzzHttp(text, piece);
      return 0;
    default:
      FuzzSocks(rest);
      return 0;
  }
}
