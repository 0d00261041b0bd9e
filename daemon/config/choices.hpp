// Keys whose value is one of a few words.
#pragma once

#include <string_view>

#include "config/reading.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

// The target is unchanged after an error.
Reading read_direction(std::string_view text, Direction& direction);
Reading read_divert(std::string_view text, DivertMethod& method);
Reading read_segmentation(std::string_view text, Segmentation& segmentation);
Reading read_precision(std::string_view text, Precision& precision);
Reading read_queue_management(std::string_view text, QueueManagement& management);
Reading read_action(std::string_view text, ClassAction& action);
Reading read_limiter(std::string_view text, Limiter& limiter);
Reading read_on_loss(std::string_view text, OnLoss& on_loss);
Reading read_capture(std::string_view text, CaptureMethod& capture);

}  // namespace headgate
