#include "exporter.hpp"

#include <arpa/inet.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "metrics_text.hpp"
#include "page_files.hpp"
#include "public_view.hpp"
#include "vocabulary/control_message.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kJson[] = "application/json";
constexpr char kPrometheusType[] = "text/plain; version=0.0.4; charset=utf-8";
constexpr char kOpenMetricsType[] = "application/openmetrics-text; version=1.0.0; charset=utf-8";

WebResponse json_response(const Json& json, int status = 200) {
  return {.status = status,
          .type = kJson,
          .body = json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"};
}

WebResponse error_response(const std::string& code, const std::string& message, int status) {
  return json_response({{"schema", kSchema}, {"error", {{"code", code}, {"message", message}}}}, status);
}

WebResponse error_response(const ControlError& error) {
  const bool of_the_request = error.exit == kExitUsage;
  return error_response(error.code, error.what(), of_the_request ? 404 : 503);
}

WebResponse odd_reply() {
  return error_response("system", "the reply of headgated lacks a part: install the same version of both",
                        502);
}

bool is_address(const std::string& host) {
  in6_addr address{};
  return inet_pton(AF_INET, host.c_str(), &address) == 1 || inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

// Without its port and brackets.
std::string host_of(std::string_view host) {
  if (host.starts_with('['))
    return std::string(host.substr(1, host.find(']') - 1));  // to the end where it has none
  return std::string(host.substr(0, host.find(':')));
}

// The exporter's own, behind those of the daemon.
void write_own_metrics(MetricsWriter& writer, const DaemonAnswer& answer, std::uint64_t refused) {
  writer.begin("headgate_exporter_build_info", MetricType::gauge, "The version of this exporter: always 1.");
  writer.sample(metric_labels({{"version", HEADGATE_VERSION}}), "1");
  writer.begin("headgate_exporter_daemon_seconds", MetricType::gauge,
               "How long headgated took to answer last.");
  writer.sample({}, Json(answer.took.count()).dump());
  writer.begin("headgate_exporter_refused_connections", MetricType::counter,
               "Connections that were refused because too many were open.");
  writer.sample({}, std::to_string(refused));
}

}  // namespace

Exporter::Exporter(const ExporterOptions& options, const std::atomic<std::uint64_t>& refused)
    : only_this_host_(options.listen.is_loopback()),
      serves_flows_(options.flows),
      refused_(refused),
      daemon_(options.control) {}

bool Exporter::is_meant(const WebRequest& request) const {
  if (!only_this_host_ || request.host.empty()) return true;
  const std::string host = host_of(request.host);
  return host == "localhost" || is_address(host);
}

WebResponse Exporter::answer(const WebRequest& request) {
  if (!is_meant(request))
    return {.status = 403,
            .body = "called by a name; use localhost or the address, as in http://127.0.0.1:9469/\n"};
  if (const PageFile* file = find_page_file(request.path))
    return {.type = std::string(file->type), .body = std::string(file->content)};
  if (request.path == "/metrics") return metrics(request);
  if (request.path == "/api/show") return show();
  if (request.path == "/api/flows") return flows(request);
  if (request.path == "/health") return health();
  return {.status = 404, .body = "there are /, /metrics, /api/show, /api/flows and /health\n"};
}

WebResponse Exporter::metrics(const WebRequest& request) {
  const bool open = request.accept.find("application/openmetrics-text") != std::string::npos;
  MetricsWriter writer(open ? MetricsFormat::openmetrics : MetricsFormat::prometheus);
  const auto daemon = daemon_.show();
  try {
    if (daemon->error) {
      write_metrics_without_daemon(writer);
    } else {
      write_metrics(writer, daemon->reply);
    }
  } catch (const Json::exception&) {
    return odd_reply();
  }
  write_own_metrics(writer, *daemon, refused_);
  return {.type = open ? kOpenMetricsType : kPrometheusType, .body = writer.finish()};
}

WebResponse Exporter::show() {
  const auto daemon = daemon_.show();
  if (daemon->error) return error_response(*daemon->error);
  try {
    return json_response(public_show(daemon->reply, serves_flows_));
  } catch (const Json::exception&) {
    return odd_reply();
  }
}

WebResponse Exporter::flows(const WebRequest& request) {
  if (!serves_flows_)
    return error_response("refused", "flows have addresses: they are served by headgate-exporter --flows",
                          403);
  const auto daemon = daemon_.flows(request.parameter("class"));
  if (daemon->error) return error_response(*daemon->error);
  Json reply = daemon->reply;
  reply.erase("config");
  return json_response(reply);
}

WebResponse Exporter::health() {
  const auto daemon = daemon_.show();
  return {.body = daemon->error ? "the exporter works, no headgated answers\n"
                                : "the exporter works, headgated answers\n"};
}

}  // namespace headgate
