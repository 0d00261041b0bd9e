// What is answered to which path, of a daemon on a real control socket.
#include "exporter.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <string>

#include "control/fake_daemon.hpp"
#include "service/served_socket.hpp"
#include "service/temporary_directory.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

class ExporterTest : public testing::Test {
 protected:
  WebResponse ask(const std::string& path, const WebRequest& request = {}) {
    Exporter exporter(options, refused);
    WebRequest with_path = request;
    with_path.path = path;
    return exporter.answer(with_path);
  }

  ControlSocket::Handler handler() {
    return [this](std::string_view line, const PeerCredentials&) {
      ++asked;
      return handle_request(line, daemon).line;
    };
  }

  TemporaryDirectory directory;
  FakeDaemon daemon;
  ExporterOptions options{.control = directory.file("control.sock")};
  std::atomic<std::uint64_t> refused{3};
  std::atomic<int> asked{0};
};

TEST_F(ExporterTest, ServesMetrics) {
  ServedSocket server(options.control, handler());
  const WebResponse response = ask("/metrics");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_NE(response.body.find("\nheadgate_up 1\n"), std::string::npos);
  EXPECT_NE(response.body.find("\nheadgate_exporter_refused_connections_total 3\n"), std::string::npos);
}

TEST_F(ExporterTest, ServesOpenMetricsToWhoAsksForThem) {
  ServedSocket server(options.control, handler());
  const WebResponse response =
      ask("/metrics", {.accept = "application/openmetrics-text;version=1.0.0,*/*;q=0.1"});
  EXPECT_EQ(response.type, "application/openmetrics-text; version=1.0.0; charset=utf-8");
  EXPECT_NE(response.body.find("# TYPE headgate_packets_sent counter\n"), std::string::npos);
  EXPECT_TRUE(response.body.ends_with("# EOF\n"));
}

TEST_F(ExporterTest, SaysThatThereIsNoDaemonAndGoesOn) {
  EXPECT_NE(ask("/metrics").body.find("\nheadgate_up 0\n"), std::string::npos);
  EXPECT_EQ(ask("/metrics").body.find("headgate_open"), std::string::npos);
  const WebResponse show = ask("/api/show");
  EXPECT_EQ(show.status, 503);
  EXPECT_EQ(Json::parse(show.body)["error"]["code"], "not_running");
  EXPECT_EQ(ask("/").status, 200);
  EXPECT_EQ(ask("/health").status, 200);
}

TEST_F(ExporterTest, TellsTheBudgetAndNotItsFloor) {
  ShapeConfig& eth0 = daemon.status_now.shapes[0].config;
  eth0.rate = BitRate{1'000'000};
  eth0.budget = "uplink";
  eth0.groups = {{.name = "office", .place = {.ceiling = BitRate{2'000'000}, .budget = "office"}}};
  ClassConfig& clients = eth0.classes[1];
  clients.rate = {std::nullopt, BitRate{3'000'000}};
  clients.budget = "clients";
  clients.place.ceiling = BitRate{4'000'000};
  ServedSocket server(options.control, handler());
  const Json shape = Json::parse(ask("/api/show").body)["shapes"][0];
  EXPECT_EQ(shape["budget"], "uplink");
  EXPECT_EQ(shape["rate"], Json());
  EXPECT_EQ(shape["groups"][0]["budget"], "office");
  EXPECT_EQ(shape["groups"][0]["ceiling"], Json());
  EXPECT_EQ(shape["classes"][1]["budget"], "clients");
  EXPECT_EQ(shape["classes"][1]["rate"], Json::array());
  EXPECT_EQ(shape["classes"][1]["ceiling"], "4mbit");
}

TEST_F(ExporterTest, KeepsAddressesToItselfUnlessTold) {
  daemon.status_now.shapes[0].config.classes[1].match = "host 192.0.2.77";
  add_pattern(daemon);
  ServedSocket server(options.control, handler());
  for (const char* path : {"/api/show", "/metrics", "/api/flows", "/health"}) {
    const std::string body = ask(path).body;
    for (const char* secret : {"192.0.2.77", "10.0.0", "headgate.toml", "backup.service", "/etc"})
      EXPECT_EQ(body.find(secret), std::string::npos) << path << ": " << body;
  }
  EXPECT_EQ(ask("/api/flows", {.parameters = {{"class", "video"}}}).status, 403);
  options.flows = true;
  EXPECT_NE(ask("/api/show").body.find("host 192.0.2.77"), std::string::npos);
  const WebResponse flows = ask("/api/flows", {.parameters = {{"class", "video"}}});
  EXPECT_EQ(flows.status, 200);
  EXPECT_NE(flows.body.find("10.0.0.1"), std::string::npos);
  EXPECT_EQ(flows.body.find("headgate.toml"), std::string::npos);
  EXPECT_EQ(ask("/api/flows", {.parameters = {{"class", "no_such"}}}).status, 404);
}

TEST_F(ExporterTest, ShowsWhatThePageNeeds) {
  add_pattern(daemon);
  ServedSocket server(options.control, handler());
  const Json show = Json::parse(ask("/api/show").body);
  EXPECT_EQ(show["serves_flows"], false);
  EXPECT_EQ(show["shapes"].size(), 2u);
  EXPECT_EQ(show["patterns"][0]["interfaces"].size(), 2u);
  const Json& clients = show["shapes"][0]["classes"][1];
  EXPECT_EQ(clients["name"], "clients");
  EXPECT_EQ(clients["sent"]["packets"], 20'000);
  EXPECT_EQ(clients["delays"]["packets"].size(), show["delay_bounds_us"].size() + 1);
}

TEST_F(ExporterTest, IsDeafToForeignNamesWhereOnlyThisHostConnects) {
  ServedSocket server(options.control, handler());
  for (const char* host : {"127.0.0.1:9469", "localhost", "localhost:9469", "[::1]:9469", ""})
    EXPECT_EQ(ask("/metrics", {.host = host}).status, 200) << host;
  for (const char* host : {"evil.example", "evil.example:9469", "localhost.evil.example", "[evil]:1", "["})
    EXPECT_EQ(ask("/metrics", {.host = host}).status, 403) << host;
  options.listen = parse_listen_address("0.0.0.0:9469");
  EXPECT_EQ(ask("/metrics", {.host = "router.example:9469"}).status, 200);
}

TEST_F(ExporterTest, AsksTheDaemonOnceForAllWhoAskAtAboutTheSameTime) {
  ServedSocket server(options.control, handler());
  Exporter exporter(options, refused);
  for (int i = 0; i < 20; ++i) exporter.answer({.path = i % 2 == 0 ? "/metrics" : "/api/show"});
  EXPECT_LT(asked, 20);
  EXPECT_GE(asked, 1);
}

TEST_F(ExporterTest, HasFilesOfThePageOnly) {
  EXPECT_EQ(ask("/page.js").type, "text/javascript; charset=utf-8");
  EXPECT_EQ(ask("/page.css").type, "text/css; charset=utf-8");
  for (const char* path : {"/../page.js", "/page", "/etc/passwd", "//", "/index.html "})
    EXPECT_EQ(ask(path).status, 404) << path;
}

}  // namespace
}  // namespace headgate
