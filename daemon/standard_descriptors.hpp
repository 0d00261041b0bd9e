// Descriptors 0, 1 and 2 are standard input, output and error, whoever starts the program.
#pragma once

namespace headgate {

// Fills those that are closed, so that no file or socket opened later becomes one of them and is read or written by
// mistake. What fills them can be neither read nor written, as a closed one: it is /dev/null, opened the wrong way around.
// First thing in main().
void open_standard_descriptors();

}  // namespace headgate
