// headgatectl simulate: the row, and its options as values.
#include "commands.hpp"
#include "invocation.hpp"
#include "option_value.hpp"
#include "simulate_run.hpp"

namespace headgate {
namespace {

int run(const Invocation& invocation) {
  SimulateOptions options;
  options.config = invocation.value("config").value_or(kDefaultConfigPath);
  options.shape = invocation.value("shape").value_or("");
  options.traces = invocation.values("trace");
  options.filter = invocation.value("filter").value_or("");
  options.traffic = invocation.values("traffic");
  options.until = invocation.value<Duration>("until");
  options.seed = invocation.value<std::uint64_t>("seed").value_or(options.seed);
  if (const auto flows = invocation.value<std::uint64_t>("flows")) options.flows = *flows;
  options.html = invocation.value("html").value_or("");
  options.out = invocation.value("out").value_or("");
  options.json = invocation.json;
  options.csv = invocation.has("csv");
  return simulate(options);
}

std::vector<Option> options() {
  return {
      {.name = "config",
       .value = "FILE",
       .help = "the configuration, /etc/headgate/headgate.toml unless given",
       .completes = Completes::file},
      {.name = "shape", .value = "SHAPE", .help = "which one: eth0/egress, or eth0 where that is one"},
      {.name = "trace",
       .value = "FILE",
       .help = "what comes: a pcap or pcapng trace, - is standard input; may be repeated",
       .completes = Completes::file,
       .repeats = true},
      {.name = "filter", .value = "EXPR", .help = "of the traces only packets that match, as for tcpdump"},
      {.name = "traffic",
       .value = "SPEC",
       .help = "what comes: synthetic sources; may be repeated",
       .repeats = true},
      {.name = "until",
       .value = "TIME",
       .help = "end then, such as 10s; else when all has left",
       .read = time_with_unit()},
      {.name = "seed",
       .value = "N",
       .help = "what random sources hang on, 1 unless given",
       .read = number_from(0)},
      {.letter = 'n',
       .name = "flows",
       .value = "N",
       .help = "show the N largest flows, 20 unless given, 100 in JSON and HTML",
       .read = number_from(0, 262'144)},
      {.name = "html",
       .value = "FILE",
       .help = "write a page with charts, too",
       .completes = Completes::file},
      {.name = "out",
       .value = "FILE",
       .help = "write what departs, when, and what is dropped, as a pcapng trace",
       .completes = Completes::file},
      {.name = "csv", .help = "print CSV, all flows"},
  };
}

}  // namespace

Command simulate_command() {
  return {
      .name = "simulate",
      .options = options(),
      .summary = "what a configuration would do with a trace or made-up traffic; needs no daemon",
      .details =
          "Sends a trace, or synthetic traffic, through the classes of a shape in virtual time, by the code "
          "that\n"
          "headgated shapes with, and tells what each class and flow was offered and sent, what was dropped "
          "and\n"
          "why, how long it waited, and how evenly a class's flows were served. Needs no headgated and no\n"
          "privileges. A trace does not react: TCP would slow down where packets are dropped or delayed.\n\n"
          "A SPEC is one source, or several with \";\" between them:\n"
          "  [poisson | onoff ON OFF] udp|tcp|icmp FROM:PORT>TO:PORT SIZE[..SIZE] RATE [OPTION...]\n"
          "with the options from TIME, to TIME, flows N [ports|sources|destinations], burst Np, count Np,\n"
          "dscp NAME, ecn, l4s, mark N. RATE is that of each flow; headgatectl(1) has all of it.",
      .examples =
          {"headgatectl simulate --config new.toml --trace monday.pcap --html monday.html",
           "headgatectl simulate --traffic \"udp 10.0.0.1:1000>10.0.0.2:53 1200b 5mbit from 1s to 9s\"",
           "headgatectl simulate --traffic \"poisson udp 10.0.0.1:9>10.1.0.1:53 64b..1514b 2mbit flows 50 "
           "destinations\" --until 30s",
           "headgatectl -j simulate --trace a.pcapng | jq '.classes[] | {name, fairness, delay_us}'"},
      .run = run,
  };
}

}  // namespace headgate
