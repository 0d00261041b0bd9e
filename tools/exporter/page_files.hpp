// The files of the live page, as they were when this was built: page/.
#pragma once

#include <string_view>

namespace headgate {

struct PageFile {
  std::string_view path;  // "/page.js"
  std::string_view type;  // "text/javascript; charset=utf-8"
  std::string_view content;
};

const PageFile* find_page_file(std::string_view path);  // null: there is none; "/" is the page

}  // namespace headgate
