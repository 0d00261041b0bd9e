// Values back as text in the grammar of the file: what read_rate() and its kin read to the same value.
#pragma once

#include <string>
#include <string_view>

#include "vocabulary/config.hpp"

namespace headgate {

std::string to_text(PacketRate rate);  // "1000pps", "10p/min"
std::string to_text(BitRate rate);     // "20mbit": the largest unit that needs no fraction
std::string to_text(DataSize size);    // "64kb"
std::string to_text(Duration time);    // "50ms"

// One element stands bare, several as a list of the file: 1000pps, or ["1000pps", "20mbit"].
std::string to_text(const Rate& rate);               // nothing set (a bypass): ""
std::string to_text(const Burst& burst);             // nothing set: "1p"
std::string to_text(const QueueCapacity& queue);     // nothing set: ""
std::string to_text(const KeySpec& key);             // all parts off: "class"
std::string said_text(const KeySpec& key);           // as in the file: "dst" in quotation marks, or a list
std::string limit_text(const WindowConfig& window);  // "5000p", "10mb"

std::string_view to_text(Direction direction);         // "egress"
std::string_view to_text(DivertMethod method);         // "auto", "tcx", "clsact"
std::string_view to_text(Segmentation segmentation);   // "precise", "auto", "whole"
std::string_view to_text(Precision precision);         // "normal", "high"
std::string_view to_text(QueueManagement management);  // "none", "codel"
std::string_view to_text(ClassAction action);          // "shape", "police"
std::string_view to_text(OnLoss on_loss);              // "floor", "hold", "open"
std::string_view to_text(Limiter limiter);             // "token-bucket", "fixed-window", "sliding-window"
std::string_view to_text(CaptureMethod capture);       // "auto", "bpf", "ring", "pcap"

}  // namespace headgate
