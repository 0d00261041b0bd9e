// The completion scripts as the shells run them, against a real socket.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "control/control_handler.hpp"
#include "control/fake_daemon.hpp"
#include "service/served_socket.hpp"
#include "service/temporary_directory.hpp"

namespace headgate {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;

using Words = std::vector<std::string>;

class CompletionTest : public testing::Test {
 protected:
  CompletionTest() {
    const std::string programs = std::filesystem::path(HEADGATECTL).parent_path();
    setenv("PATH", (programs + ":" + std::getenv("PATH")).c_str(), 1);
    for (const char* shell : {"bash", "zsh", "fish"})
      EXPECT_EQ(std::system(("headgatectl completion " + std::string(shell) + " > " + script(shell)).c_str()),
                0);
  }

  std::string script(const std::string& shell) const { return directory.file("script." + shell); }

  // The lines that a command prints.
  static Words lines_of(const std::string& command) {
    FILE* pipe = popen(command.c_str(), "r");
    std::string text;
    for (int character = fgetc(pipe); character != EOF; character = fgetc(pipe))
      text += static_cast<char>(character);
    EXPECT_EQ(pclose(pipe), 0) << command;
    std::istringstream stream(text);
    Words lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
  }

  // What bash offers for the last of the words, which are as bash splits them.
  Words bash(const Words& words) const {
    std::ofstream program(directory.file("program"));
    program << "source " << script("bash") << "\nCOMP_WORDS=(headgatectl";
    for (const std::string& word : words) program << " '" << word << "'";
    program << ")\nCOMP_CWORD=" << words.size() << "\n"
            << "_headgatectl headgatectl\n"
            << "((${#COMPREPLY[@]} == 0)) || printf '%s\\n' \"${COMPREPLY[@]}\"\n";
    program.close();
    return lines_of("bash " + directory.file("program") + " 2>&1");
  }

  Words bash_live(Words words) const {
    words.insert(words.begin(), {"--control", path});
    return bash(words);
  }

  TemporaryDirectory directory;
  std::string path = directory.file("control.sock");
  FakeDaemon daemon;
};

TEST_F(CompletionTest, OffersCommandsInBash) {
  EXPECT_THAT(bash({"fl"}), ElementsAre("flows"));
  EXPECT_THAT(bash({""}), IsSupersetOf({"show", "flows", "plan", "capture", "reload", "completion", "help"}));
  EXPECT_THAT(bash({"-j", "rel"}), ElementsAre("reload"));
  EXPECT_THAT(bash({"help", "cap"}), ElementsAre("capture"));
  EXPECT_THAT(bash({"completion", "f"}), ElementsAre("fish"));
}

TEST_F(CompletionTest, OffersTheOptionsOfTheCommandInBash) {
  EXPECT_THAT(bash({"flows", "--"}),
              ElementsAre("--limit", "--both", "--watch", "--json", "--control", "--version", "--help"));
  EXPECT_THAT(bash({"capture", "dns", "--r"}), ElementsAre("--received"));
  EXPECT_THAT(bash({"--by"}), ElementsAre("--bytes")) << "of show";
  EXPECT_THAT(bash({"reload", "--w"}), IsEmpty());
  EXPECT_THAT(bash({"check", "--", "--"}), Not(Contains("--json"))) << "a file, no option";
}

TEST_F(CompletionTest, OffersFilesWhereAFileIsMeantInBash) {
  std::ofstream(directory.file("home.toml"));
  for (const Words& before :
       std::vector<Words>{{"check"}, {"capture", "-w"}, {"capture", "--write", "="}, {"--control"}}) {
    Words words = before;
    words.push_back(directory.file("home"));
    EXPECT_THAT(bash(words), ElementsAre(directory.file("home.toml")));
  }
}

TEST_F(CompletionTest, OffersTheNamesThatTheDaemonHasInBash) {
  ServedSocket server(path, [this](std::string_view line, const PeerCredentials&) {
    return handle_request(line, daemon).line;
  });
  EXPECT_THAT(bash_live({"flows", "d"}), ElementsAre("dns"));
  EXPECT_THAT(bash_live({"flows", "-n", "5", "eth0/egress/"}),
              ElementsAre("eth0/egress/clients", "eth0/egress/dns"));
  EXPECT_THAT(bash_live({"flows", "clients"}), IsEmpty()) << "of two interfaces";
  EXPECT_THAT(bash_live({"flows", "--watch", "=", "5", "d"}), ElementsAre("dns"));
  EXPECT_THAT(bash_live({"capture", "-w", "trace", "vi"}), ElementsAre("video"));
  EXPECT_THAT(bash_live({"flows", "dns", "d"}), IsEmpty()) << "it takes one class";
  EXPECT_THAT(bash_live({"flows", "-n", "d"}), IsEmpty()) << "a number";
}

TEST_F(CompletionTest, OffersThePlansOfTheClassInBash) {
  daemon.status_now.shapes.at(0).config.classes.at(0).plans = {{.name = "gold"}, {.name = "silver"}};
  const std::string name = daemon.status_now.shapes.at(0).config.classes.at(0).name;
  ServedSocket server(path, [this](std::string_view line, const PeerCredentials&) {
    return handle_request(line, daemon).line;
  });
  EXPECT_THAT(bash_live({"plan", name, "10.0.0.5", ""}), ElementsAre("gold", "none", "silver"));
  EXPECT_THAT(bash_live({"plan", "video", "10.0.0.5", ""}), ElementsAre("none"));
}

TEST_F(CompletionTest, DoesNotRunWhatANameSays) {
  const std::string made = directory.file("made");
  daemon.status_now.shapes.at(0).interface = "a$(touch${IFS}" + made + ")";
  ServedSocket server(path, [this](std::string_view line, const PeerCredentials&) {
    return handle_request(line, daemon).line;
  });
  EXPECT_THAT(bash_live({"flows", "a"}), Contains(testing::StartsWith("a\\$\\(touch")));
  EXPECT_FALSE(std::filesystem::exists(made));
}

TEST_F(CompletionTest, IsSilentWhereNoDaemonAnswers) {
  EXPECT_THAT(bash_live({"flows", ""}), IsEmpty());
  EXPECT_THAT(lines_of("headgatectl --control " + path + " completion classes 2>&1"), IsEmpty());
}

TEST_F(CompletionTest, OffersTheSameInFish) {
  ServedSocket server(path, [this](std::string_view line, const PeerCredentials&) {
    return handle_request(line, daemon).line;
  });
  const auto fish = [&](const std::string& line) {
    return lines_of("HOME=" + directory.path().string() + " fish --no-config -c 'source " + script("fish") +
                    "; complete -C \"headgatectl " + line + "\"' 2>&1");
  };
  EXPECT_THAT(fish("fl"), ElementsAre("flows\tthe largest flows, with their rates measured over a second"));
  EXPECT_THAT(fish("flows --li"), ElementsAre("--limit\tshow N flows, 20 unless given"));
  EXPECT_THAT(fish("reload --li"), IsEmpty());
  EXPECT_THAT(fish("--by"), ElementsAre("--bytes\tcount bytes instead of packets"));
  EXPECT_THAT(fish("help cap"), ElementsAre("capture"));
  EXPECT_THAT(fish("capture -w f completion"), IsEmpty());
}

// zsh completes on a terminal alone: what the line is after the tabulator, as its line editor has it.
std::string line_in_zsh(const std::string& directory, const std::string& typed) {
  const std::string file = directory + "/line";
  std::ofstream(directory + "/.zshrc")
      << "fpath=(" << directory << " $fpath)\nautoload -Uz compinit\ncompinit -u -d " << directory
      << "/dump\n"
      << "tell() { print -r -- $BUFFER > " << file << "; exit }\nzle -N tell\nbindkey '^X' tell\n";
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) {
    setenv("ZDOTDIR", directory.c_str(), 1);
    setenv("TERM", "dumb", 1);
    execlp("zsh", "zsh", "-i", nullptr);
    _exit(99);
  }
  const std::string keys = typed + "\t\x18";
  EXPECT_EQ(write(terminal, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  std::array<char, 4096> screen;
  while (read(terminal, screen.data(), screen.size()) > 0) continue;
  close(terminal);
  waitpid(child, nullptr, 0);
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

TEST_F(CompletionTest, OffersTheSameInZsh) {
  ServedSocket server(path, [this](std::string_view line, const PeerCredentials&) {
    return handle_request(line, daemon).line;
  });
  std::filesystem::rename(script("zsh"), directory.file("_headgatectl"));
  std::ofstream(directory.file("home.toml"));
  const auto zsh = [&](const std::string& typed) {
    return line_in_zsh(directory.path(), "headgatectl --control " + path + " " + typed)
        .substr(std::string("headgatectl --control " + path + " ").size());
  };
  EXPECT_EQ(zsh("fl"), "flows ");
  EXPECT_EQ(zsh("flows --li"), "flows --limit=");
  EXPECT_EQ(zsh("--by"), "--bytes ");
  EXPECT_EQ(zsh("help cap"), "help capture ");
  EXPECT_EQ(zsh("check " + directory.file("ho")), "check " + directory.file("home.toml") + " ");
  EXPECT_EQ(zsh("flows -n 5 eth0/egress/d"), "flows -n 5 eth0/egress/dns ");
  EXPECT_EQ(zsh("capture -w f vi"), "capture -w f video ");
}

}  // namespace
}  // namespace headgate
