// headgated: reads what is wanted, then runs the daemon.
#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>

#include "config/command_line.hpp"
#include "config/config_file.hpp"
#include "daemon.hpp"
#include "headgate/control_message.hpp"
#include "linux/real_time.hpp"
#include "linux/traffic_divert.hpp"
#include "log.hpp"
#include "version.hpp"
