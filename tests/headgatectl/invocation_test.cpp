#include "invocation.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>

#include "commands.hpp"
#include "option_value.hpp"
#include "usage_text.hpp"

namespace headgate {
namespace {

Invocation parse(const std::vector<std::string>& arguments) {
  return parse_invocation(arguments, commands());
}

std::string refusal(const std::vector<std::string>& arguments) {
  try {
    parse(arguments);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

std::optional<Duration> interval(const std::vector<std::string>& arguments) {
  return parse(arguments).value<Duration>("watch");
}

TEST(Invocation, MeansShowWithoutACommand) {
  const Invocation invocation = parse({});
  EXPECT_EQ(invocation.command->name, "show");
  EXPECT_EQ(invocation.control, "/run/headgate/control.sock");
  EXPECT_FALSE(invocation.json);
  EXPECT_FALSE(invocation.has("watch"));
  EXPECT_EQ(parse({"-jw"}).command->name, "show");
}

TEST(Invocation, TakesGeneralOptionsBeforeAndAfterTheCommand) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--control", "/tmp/s", "-j", "flows", "dns", "-n", "7"},
        {"flows", "dns", "-n7", "-j", "--control=/tmp/s"},
        {"--control=/tmp/s", "flows", "-jn7", "dns"},
        {"--json", "flows", "--limit=7", "dns", "--control", "/tmp/s"}}) {
    const Invocation invocation = parse(arguments);
    EXPECT_EQ(invocation.command->name, "flows");
    EXPECT_EQ(invocation.operand("CLASS"), "dns");
    EXPECT_EQ(invocation.value<std::uint64_t>("limit"), 7);
    EXPECT_EQ(invocation.control, "/tmp/s");
    EXPECT_TRUE(invocation.json);
  }
}

TEST(Invocation, TakesTheValueOfAGeneralOptionForNoCommand) {
  const Invocation invocation = parse({"--control", "flows", "reload"});
  EXPECT_EQ(invocation.command->name, "reload");
  EXPECT_EQ(invocation.control, "flows");
}

TEST(Invocation, ReadsTheIntervalOfWatching) {
  using namespace std::chrono_literals;
  EXPECT_EQ(interval({"show", "--watch"}), 1s);
  EXPECT_EQ(interval({"show", "--watch", "2"}), 2s);
  EXPECT_EQ(interval({"show", "--watch=0.5"}), 500ms);
  EXPECT_EQ(interval({"show", "-w", "10"}), 10s);
  EXPECT_EQ(interval({"-w"}), 1s);
  EXPECT_EQ(interval({"-j", "-w", "3"}), 3s);
}

TEST(Invocation, ReadsThatEachInterfaceOfAPatternIsWanted) {
  EXPECT_TRUE(parse({"show", "-a"}).has("all"));
  EXPECT_TRUE(parse({"--all"}).has("all"));
  EXPECT_FALSE(parse({"show"}).has("all"));
}

TEST(Invocation, ReadsWhatToCaptureAndWhereTo) {
  const Invocation all = parse({"capture", "dns", "-w", "trace.pcapng"});
  EXPECT_EQ(all.command->name, "capture");
  EXPECT_EQ(all.operand("CLASS"), "dns");
  EXPECT_EQ(all.value("write"), "trace.pcapng");
  EXPECT_FALSE(all.has("received") || all.has("sent") || all.has("dropped") || all.has("count"));
  EXPECT_FALSE(all.has("watch")) << "-w is not --watch here";
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"capture", "dns", "--dropped", "--sent", "-w", "-", "-c", "7"},
        {"capture", "-w-", "dns", "--count=7", "--sent", "--dropped"},
        {"capture", "--write", "-", "dns", "--count", "7", "--sent", "--dropped"}}) {
    const Invocation invocation = parse(arguments);
    EXPECT_EQ(invocation.operand("CLASS"), "dns");
    EXPECT_EQ(invocation.value("write"), "-");
    EXPECT_TRUE(invocation.has("sent") && invocation.has("dropped"));
    EXPECT_FALSE(invocation.has("received"));
    EXPECT_EQ(invocation.value<std::uint64_t>("count"), 7);
  }
}

TEST(Invocation, TakesTheFileOfACaptureForNoWord) {
  for (const std::string file : {"show", "flows", "check", "7"}) {
    const Invocation invocation = parse({"capture", "-w", file, "dns"});
    EXPECT_EQ(invocation.operand("CLASS"), "dns");
    EXPECT_EQ(invocation.value("write"), file);
  }
}

TEST(Invocation, GivesTheWordBackThatIsNoInterval) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"flows", "-w", "show"}, {"flows", "show", "-w"}}) {
    const Invocation invocation = parse(arguments);
    EXPECT_EQ(invocation.operand("CLASS"), "show");
    EXPECT_EQ(interval(arguments), std::chrono::seconds(1));
  }
}

TEST(Invocation, WantsHelpOfTheCommandThatIsGiven) {
  for (const Command& command : commands()) {
    const Invocation invocation = parse({std::string(command.name), "--help"});
    EXPECT_TRUE(invocation.help);
    EXPECT_EQ(invocation.command, &command);
  }
  EXPECT_EQ(parse({"-h", "capture", "-w", "-"}).command->name, "capture");
  EXPECT_EQ(parse({"--help"}).command, nullptr);
  EXPECT_EQ(parse({"-w", "--help"}).command, nullptr);
  EXPECT_EQ(parse({"halt", "--help"}).command, nullptr);
}

TEST(Invocation, WantsHelpOrVersionWhateverElseThereIs) {
  EXPECT_TRUE(parse({"capture", "--help"}).help);
  EXPECT_TRUE(parse({"-h"}).help);
  EXPECT_TRUE(parse({"halt", "-h"}).help);
  EXPECT_TRUE(parse({"--version"}).version);
}

TEST(Invocation, TakesAWordThatLooksLikeAnOption) {
  EXPECT_EQ(parse({"check", "--", "-x.toml"}).operand("FILE"), "-x.toml");
  EXPECT_EQ(parse({"--", "check", "-x.toml"}).operand("FILE"), "-x.toml");
}

TEST(Invocation, ReadsSeveralOperands) {
  const Invocation one = parse({"plan", "customers", "10.0.0.5", "-j", "gold"});
  EXPECT_EQ(one.operand("CLASS"), "customers");
  EXPECT_EQ(one.operand("MEMBER"), "10.0.0.5");
  EXPECT_EQ(one.operand("PLAN"), "gold");
  const Invocation lines = parse({"plan", "customers", "-"});
  EXPECT_EQ(lines.operand("MEMBER"), "-");
  EXPECT_EQ(lines.operand("PLAN"), "");
}

TEST(Invocation, ReadsAnOperandThatRepeats) {
  const std::vector<Command> table = {
      {.name = "paint",
       .operands = {{.name = "WALL"}, {.name = "KEY=VALUE", .occurs = Occurs::at_least_once}},
       .options = {{.name = "for", .value = "TIME", .help = "", .read = time_with_unit()}}}};
  const Invocation invocation = parse_invocation({"paint", "north", "a=1", "--for", "10min", "b=-2"}, table);
  EXPECT_EQ(invocation.operand("WALL"), "north");
  EXPECT_EQ(invocation.operands("KEY=VALUE"), (std::vector<std::string>{"a=1", "b=-2"}));
  EXPECT_EQ(invocation.value<Duration>("for"), std::chrono::minutes(10));
  EXPECT_THROW(parse_invocation({"paint", "north"}, table), UsageError);
  EXPECT_THROW(parse_invocation({"paint", "north", "a=1", "--for", "10"}, table), UsageError);
}

// What the table promises its reader.
TEST(Invocation, HasOneMeaningOfEachOptionInACommand) {
  for (const Command& command : commands()) {
    std::set<std::string> written;
    for (const std::vector<Option>* options : {&command.options, &general_options()}) {
      for (const Option& option : *options) {
        EXPECT_TRUE(written.insert(std::string(option.name)).second) << command.name << " --" << option.name;
        if (option.letter == '\0') continue;
        EXPECT_TRUE(written.insert({option.letter}).second) << command.name << " -" << option.letter;
      }
    }
  }
}

TEST(Invocation, CanTellTheOperandsOfEachCommandApart) {
  for (const Command& command : commands()) {
    bool lacked = false, repeated = false;
    for (const Operand& operand : command.operands) {
      EXPECT_FALSE(repeated) << command.name << " " << operand.name << " would never be reached";
      EXPECT_FALSE(lacked && !may_lack(operand)) << command.name << " " << operand.name;
      repeated = may_repeat(operand);
      lacked = may_lack(operand);
    }
  }
}

// The words of an example up to what the shell makes of the rest; what stands in quotation marks is one.
std::vector<std::string> words_of(const std::string& example) {
  std::vector<std::string> words(1);
  bool quoted = false;
  for (const char character : example) {
    if (character == '"') {
      quoted = !quoted;
    } else if (!quoted && std::string_view("|&<>").find(character) != std::string_view::npos) {
      break;
    } else if (!quoted && character == ' ') {
      if (!words.back().empty()) words.emplace_back();
    } else {
      words.back() += character;
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

TEST(Invocation, AcceptsTheExamplesOfEachCommand) {
  for (const Command& command : commands()) {
    EXPECT_FALSE(command.examples.empty()) << command.name;
    for (const std::string_view example : command.examples) {
      std::vector<std::string> words = words_of(std::string(example));
      ASSERT_EQ(words.front(), "headgatectl") << example;
      words.erase(words.begin());
      EXPECT_EQ(refusal(words), "accepted") << example;
      EXPECT_EQ(parse(words).command, &command) << example;
    }
  }
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
            R"(unknown command "halt", expected "show", "flows", "top", "set", "limit", "unlimit", "plan", "drops", "explain", "capture", "metrics", "reload", "try", "confirm", "undo", "diff", "save", "check", "simulate", "report", "version", "completion" or "help")"},
        Refusal{"MistypedCommandBesideAnOption",
                {"-w", "2", "flwos", "dns"},
                R"(unknown command "flwos", did you mean "flows"?)"},
        Refusal{
            "OptionBeforeItsCommand",
            {"-w", "2", "flows", "dns"},
            R"(option "-w" stands before its command: put it behind, as in headgatectl flows -w [SECONDS])"},
        Refusal{"OptionWithValueBeforeItsCommand",
                {"-j", "--limit=7", "flows", "dns"},
                R"(option "--limit" stands before its command: put it behind, as in headgatectl flows -n N)"},
        Refusal{"OptionBeforeItsCommandBesideAGeneralOne",
                {"-jn7", "flows", "dns"},
                R"(option "-n" stands before its command: put it behind, as in headgatectl flows -n N)"},
        Refusal{"OptionBeforeACommandWithoutIt",
                {"-w", "reload"},
                R"(-w does not go with "reload", but with "show", "flows" and "capture")"},
        Refusal{"MistypedOptionBeforeACommand",
                {"--jsno", "show"},
                R"(unknown option "--jsno", did you mean "--json"?)"},
        Refusal{"MistypedOption", {"--jsno"}, R"(unknown option "--jsno", did you mean "--json"?)"},
        Refusal{"AbbreviatedOption",
                {"--contro", "/tmp/s"},
                R"(unknown option "--contro", did you mean "--control"?)"},
        Refusal{
            "UnknownLetter",
            {"-x"},
            R"(unknown option "-x", expected "--bytes", "--all", "--watch", "--json", "--control", "--version" or "--help")"},
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
                R"(--watch does not go with "capture", but with "show" and "flows")"},
        Refusal{"WriteAndShow",
                {"show", "--write", "x"},
                R"(--write does not go with "show", but with "capture")"},
        Refusal{"WriteTwice",
                {"capture", "dns", "-w", "x", "--write", "y"},
                R"(option "--write" is given twice)"},
        Refusal{"WatchAndReload",
                {"reload", "--watch"},
                R"(--watch does not go with "reload", but with "show" and "flows")"},
        Refusal{"CaptureWithoutClass", {"capture", "-w", "x"}, R"("capture" needs a CLASS)"},
        Refusal{"CaptureWithoutFile",
                {"capture", "dns"},
                R"("capture" needs -w FILE: the trace, in pcapng; - is standard output)"},
        Refusal{"CaptureWithEmptyFile", {"capture", "dns", "-w"}, R"(option "--write" needs a FILE)"},
        Refusal{"CountZero",
                {"capture", "dns", "-w", "x", "-c", "0"},
                R"(--count "0" is not a whole number from 1 on)"},
        Refusal{"CountAndFlows",
                {"flows", "dns", "-c", "5"},
                R"(-c does not go with "flows", but with "capture")"},
        Refusal{"DroppedAndShow",
                {"show", "--dropped"},
                R"(--dropped does not go with "show", but with "capture")"},
        Refusal{"LimitAndShow",
                {"show", "-n", "5"},
                R"(-n does not go with "show", but with "flows", "top", "drops", "explain" and "simulate")"},
        Refusal{"BytesAndFlows", {"flows", "-b"}, R"(-b does not go with "flows", but with "show")"},
        Refusal{
            "PlanWithoutClass", {"plan"}, R"("plan" needs a CLASS, as in plan CLASS {MEMBER [PLAN] | -})"},
        Refusal{"PlanWithoutMember",
                {"plan", "dns"},
                R"("plan" needs a MEMBER, as in plan CLASS {MEMBER [PLAN] | -})"},
        Refusal{
            "PlanOfInputWithTooMuch", {"plan", "dns", "-", "gold"}, R"(too many words for "plan": "gold")"},
        Refusal{"PlanWithTooMuch",
                {"plan", "dns", "10.0.0.5", "gold", "silver"},
                R"(too many words for "plan": "silver")"},
        Refusal{"CheckWithoutFile", {"check"}, R"("check" needs a FILE)"},
        Refusal{"TwoClasses", {"flows", "a", "b"}, R"(too many words for "flows": "b")"},
        Refusal{"ShowWithArgument", {"show", "eth0"}, R"(too many words for "show": "eth0")"}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace headgate
