#include "budget_lines.hpp"

#include <nlohmann/json.hpp>

#include "config/quantity.hpp"
#include "human_text.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

// Of a key of the configuration: "100mbit" is "100 Mbit/s".
std::string configured_rate(const Json& budget, const char* key) {
  const std::string text = budget.at("config").at(key);
  std::optional<BitRate> rate;
  read_bit_rate(text, rate);
  return rate ? bit_rate_text(static_cast<double>(rate->bits_per_second)) : text;
}

std::string seconds_text(const Json& seconds) {
  return delay_text(seconds.get<double>() * 1e6);
}

std::string hosts_text(const Json& hosts) {
  return hosts.dump() + (hosts == 1 ? " host" : " hosts");
}

// Why the grant is not larger.
std::string reason_of(const Json& budget) {
  const Json& told = budget.at("told");
  const std::string bound = told.at("bound");
  const std::string hosts = hosts_text(told.at("hosts"));
  if (bound == "want") return "all that it wants, among " + hosts;
  if (bound == "share") return "its share among " + hosts + " (max-min)";
  if (bound == "others") return "what the others leave, among " + hosts + ", until they have given back";
  if (bound == "learning") return "learning: for one lease Redis cannot know what was granted before";
  if (bound == "hosts") return "the floor: more hosts than hosts = " + budget.at("config").at("hosts").dump();
  return "no grant: Redis has a newer request of this host";
}

// Once there is no lease.
std::string cut_off_text(const Json& budget) {
  const std::string on_loss = budget.at("config").at("on_loss");
  if (on_loss == "hold") return "cut off, on_loss = \"hold\"";
  if (on_loss == "open") return "cut off, on_loss = \"open\"";
  return "cut off, the floor";
}

std::string answer_text(const Json& budget) {
  const Json& ago = budget.at("answered_ago_s");
  return ago.is_null() ? "no answer yet" : "answered " + seconds_text(ago) + " ago";
}

}  // namespace

std::string budget_lines(const Json& budget, const ScreenStyle& style) {
  const Json& rate = budget.at("rate_bps");
  const Json& lease_ends = budget.at("lease_ends_in_s");
  const Json& trouble = budget.at("trouble");
  const Json& told = budget.at("told");
  std::string text = styled("budget " + budget.at("name").get<std::string>(), Tone::heading, style) + "  " +
                     budget.at("interface").get<std::string>() + " " +
                     budget.at("direction").get<std::string>() + "  ";
  text += rate.is_null() ? "no limit" : bit_rate_text(rate.get<double>());
  text += " of " + configured_rate(budget, "rate") + ", wants " + bit_rate_text(budget.at("want_bps"));
  if (lease_ends.is_null())
    text += ": " + styled(cut_off_text(budget), Tone::bad, style);
  else
    text +=
        ": " + (told.is_null() ? "" : reason_of(budget) + "; ") + "lease ends in " + seconds_text(lease_ends);
  text += ", " + answer_text(budget);
  if (!trouble.is_null()) text += ": " + styled(trouble.get<std::string>(), Tone::attention, style);
  text += "\n";
  if (!told.is_null() && told.at("agreed") == false)
    text += "    " +
            styled("the hosts' files say different rates, floors, hosts or leases: the strictest hold",
                   Tone::attention, style) +
            "\n";
  return text;
}

}  // namespace headgate
