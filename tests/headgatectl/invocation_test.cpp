#include "invocation.hpp"

#include <gtest/gtest.h>

#include "commands.hpp"

namespace headgate {
namespace {

Invocation parse(const std::vector<std::string>& arguments) {
  return parse_invocation(arguments, subcommands());
}

std::string refusal(const std::vector<std::string>& arguments) {
  try {
    parse(arguments);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Invocation, MeansShowWithoutACommand) {
  const Invocation invocation = parse({});
  EXPECT_EQ(invocation.command->name, "show");
  EXPECT_EQ(invocation.control, "/run/headgate/control.sock");
  EXPECT_FALSE(invocation.json);
  EXPECT_FALSE(invocation.watch);
}

TEST(Invocation, TakesOptionsBeforeAndAfterTheCommand) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--control", "/tmp/s", "-j", "flows", "dns", "-n", "7"},
        {"flows", "dns", "-n7", "-j", "--control=/tmp/s"},
        {"-n", "7", "flows", "--json", "dns", "--control", "/tmp/s"}}) {
    const Invocation invocation = parse(arguments);
    EXPECT_EQ(invocation.command->name, "flows");
    EXPECT_EQ(invocation.argument, "dns");
    EXPECT_EQ(invocation.limit, 7);
    EXPECT_EQ(invocation.control, "/tmp/s");
    EXPECT_TRUE(invocation.json);
  }
}

TEST(Invocation, ReadsTheIntervalOfWatching) {
  using namespace std::chrono_literals;
  EXPECT_EQ(parse({"show", "--watch"}).watch, 1s);
  EXPECT_EQ(parse({"show", "--watch", "2"}).watch, 2s);
  EXPECT_EQ(parse({"show", "--watch=0.5"}).watch, 500ms);
  EXPECT_EQ(parse({"show", "-w", "10"}).watch, 10s);
  EXPECT_EQ(parse({"-w"}).watch, 1s);
}

TEST(Invocation, ReadsThatEachInterfaceOfAPatternIsWanted) {
  EXPECT_TRUE(parse({"show", "-a"}).all);
  EXPECT_TRUE(parse({"--all"}).all);
  EXPECT_FALSE(parse({"show"}).all);
}

TEST(Invocation, DoesNotTakeTheCommandForTheInterval) {
  const Invocation invocation = parse({"--watch", "flows", "dns"});
  EXPECT_EQ(invocation.command->name, "flows");
  EXPECT_EQ(invocation.argument, "dns");
  EXPECT_EQ(invocation.watch, std::chrono::seconds(1));
}

TEST(Invocation, ReadsWhatToCaptureAndWhereTo) {
  const Invocation all = parse({"capture", "dns", "-w", "trace.pcapng"});
  EXPECT_EQ(all.command->name, "capture");
  EXPECT_EQ(all.argument, "dns");
  EXPECT_EQ(all.file, "trace.pcapng");
  EXPECT_EQ(all.events, PacketEventSet{}) << "all of them";
  EXPECT_FALSE(all.count);
  EXPECT_FALSE(all.watch) << "-w is not --watch here";
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"capture", "dns", "--dropped", "--sent", "-w", "-", "-c", "7"},
        {"-w", "-", "-c7", "capture", "--sent", "--dropped", "dns"},
        {"capture", "-w-", "dns", "--count=7", "--sent", "--dropped"},
        {"capture", "--write", "-", "dns", "--count", "7", "--sent", "--dropped"}}) {
    const Invocation invocation = parse(arguments);
    EXPECT_EQ(invocation.argument, "dns");
    EXPECT_EQ(invocation.file, "-");
    EXPECT_EQ(invocation.events, (PacketEventSet{false, true, true}));
    EXPECT_EQ(invocation.count, 7);
  }
}

TEST(Invocation, TakesTheFileOfACaptureForNoCommand) {
  for (const std::string file : {"show", "flows", "check", "7"}) {
    const Invocation invocation = parse({"-w", file, "capture", "dns"});
    EXPECT_EQ(invocation.command->name, "capture");
    EXPECT_EQ(invocation.file, file);
  }
}

TEST(Invocation, GivesTheWordBackThatIsNoInterval) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"-w", "flows", "show"}, {"flows", "-w", "show"}, {"flows", "show", "-w"}}) {
    const Invocation invocation = parse(arguments);
    EXPECT_EQ(invocation.command->name, "flows");
    EXPECT_EQ(invocation.argument, "show");
    EXPECT_EQ(invocation.watch, std::chrono::seconds(1));
  }
}

TEST(Invocation, WantsHelpOfTheCommandThatIsGiven) {
  for (const Subcommand& command : subcommands()) {
    const Invocation invocation = parse({std::string(command.name), "--help"});
    EXPECT_TRUE(invocation.help);
    EXPECT_EQ(invocation.command, &command);
  }
  EXPECT_EQ(parse({"-w", "-", "-h", "capture"}).command->name, "capture");
  EXPECT_EQ(parse({"--help"}).command, nullptr);
  EXPECT_EQ(parse({"halt", "--help"}).command, nullptr);
}

TEST(Invocation, WantsHelpOrVersionWhateverElseThereIs) {
  EXPECT_TRUE(parse({"flows", "--help"}).help);
  EXPECT_TRUE(parse({"-h"}).help);
  EXPECT_TRUE(parse({"--version"}).version);
}

TEST(Invocation, TakesAnArgumentThatLooksLikeAnOption) {
  EXPECT_EQ(parse({"check", "--", "-x.toml"}).argument, "-x.toml");
}

TEST(Invocation, ReadsTheWordsBehindTheArgument) {
  const Invocation one = parse({"plan", "customers", "10.0.0.5", "-j", "gold"});
  EXPECT_EQ(one.argument, "customers");
  EXPECT_EQ(one.further, (std::vector<std::string>{"10.0.0.5", "gold"}));
  EXPECT_EQ(parse({"plan", "customers", "-"}).further, std::vector<std::string>{"-"});
}

struct Refusal {
  const char* name;
  std::vector<std::string> arguments;
  const char* message;
};

class RefusedInvocations : public testing::TestWithParam<Refusal> {};

TEST_P(RefusedInvocations, SayWhatIsWrong) {
  EXPECT_EQ(refusal(GetParam().arguments), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Invocation, RefusedInvocations,
    testing::Values(
        Refusal{"MistypedCommand", {"shwo"}, R"(unknown command "shwo", did you mean "show"?)"},
        Refusal{
            "UnknownCommand",
            {"halt"},
            R"(unknown command "halt", expected "show", "flows", "plan", "capture", "reload", "check", "version" or "help")"},
        Refusal{"MistypedCommandBesideAnOption",
                {"-w", "2", "flwos", "dns"},
                R"(unknown command "flwos", did you mean "flows"?)"},
        Refusal{"MistypedOption", {"--jsno"}, R"(unknown option "--jsno", did you mean "--json"?)"},
        Refusal{"AbbreviatedOption",
                {"--contro", "/tmp/s"},
                R"(unknown option "--contro", did you mean "--control"?)"},
        Refusal{
            "UnknownLetter",
            {"-x"},
            R"(unknown option "-x", expected "--json", "--bytes", "--all", "--limit", "--watch", "--write", "--received", "--sent", "--dropped", "--count", "--control", "--version" or "--help")"},
        Refusal{"ControlWithoutPath", {"--control"}, R"(option "--control" needs a PATH)"},
        Refusal{"ControlTwice", {"--control", "a", "--control", "b"}, R"(option "--control" is given twice)"},
        Refusal{"JsonWithValue", {"--json=1"}, R"(option "--json" takes no value)"},
        Refusal{"LimitWithoutNumber", {"flows", "-n"}, R"(option "--limit" needs an N)"},
        Refusal{"LimitZero", {"flows", "-n", "0"}, R"(--limit "0" is not a whole number from 1 to 4096)"},
        Refusal{"LimitTooLarge",
                {"flows", "-n", "4097"},
                R"(--limit "4097" is not a whole number from 1 to 4096)"},
        Refusal{
            "LimitNoNumber", {"flows", "-n", "5x"}, R"(--limit "5x" is not a whole number from 1 to 4096)"},
        Refusal{
            "WatchTooFast", {"-w", "0.05"}, R"(--watch "0.05" is not a number of seconds from 0.1 to 86400)"},
        Refusal{
            "WatchNegative", {"--watch=-1"}, R"(--watch "-1" is not a number of seconds from 0.1 to 86400)"},
        Refusal{"WatchNoNumber",
                {"show", "--watch=soon"},
                R"(--watch "soon" is not a number of seconds from 0.1 to 86400)"},
        Refusal{"WatchAndCapture",
                {"capture", "dns", "-w", "x", "--watch", "2"},
                R"(--watch does not go with "capture")"},
        Refusal{"WriteAndShow", {"show", "--write", "x"}, R"(--write does not go with "show")"},
        Refusal{"WriteTwice",
                {"capture", "dns", "-w", "x", "--write", "y"},
                R"(option "--write" is given twice)"},
        Refusal{"WatchAndReload", {"reload", "--watch"}, R"(--watch does not go with "reload")"},
        Refusal{"CaptureWithoutClass", {"capture", "-w", "x"}, R"("capture" needs a CLASS)"},
        Refusal{
            "CaptureWithoutFile", {"capture", "dns"}, R"("capture" needs -w FILE; -w - is standard output)"},
        Refusal{"CaptureWithEmptyFile",
                {"capture", "dns", "-w"},
                R"("capture" needs -w FILE; -w - is standard output)"},
        Refusal{"CountZero",
                {"capture", "dns", "-w", "x", "-c", "0"},
                R"(--count "0" is not a whole number from 1 on)"},
        Refusal{"CountAndFlows", {"flows", "dns", "-c", "5"}, R"(--count does not go with "flows")"},
        Refusal{"DroppedAndShow", {"show", "--dropped"}, R"(--dropped does not go with "show")"},
        Refusal{"LimitAndShow", {"show", "-n", "5"}, R"(--limit does not go with "show")"},
        Refusal{"BytesAndFlows", {"flows", "-b"}, R"(--bytes does not go with "flows")"},
        Refusal{"PlanWithoutClass", {"plan"}, R"("plan" needs a CLASS)"},
        Refusal{"PlanWithTooMuch",
                {"plan", "dns", "10.0.0.5", "gold", "silver"},
                R"(too many words for "plan": "silver")"},
        Refusal{"CheckWithoutFile", {"check"}, R"("check" needs a FILE)"},
        Refusal{"TwoClasses", {"flows", "a", "b"}, R"(too many words for "flows": "b")"},
        Refusal{"ShowWithArgument", {"show", "eth0"}, R"(too many words for "show": "eth0")"}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace headgate
