#include "page_files.hpp"

#include <algorithm>
#include <iterator>

#include "page_content.hpp"

namespace headgate {
namespace {

constexpr std::string_view kScript = "text/javascript; charset=utf-8";

constexpr PageFile kFiles[] = {
    {"/", "text/html; charset=utf-8", {kIndexHtml, sizeof kIndexHtml}},
    {"/page.css", "text/css; charset=utf-8", {kPageCss, sizeof kPageCss}},
    {"/icon.svg", "image/svg+xml", {kIconSvg, sizeof kIconSvg}},
    {"/page.js", kScript, {kPageJs, sizeof kPageJs}},
    {"/document.js", kScript, {kDocumentJs, sizeof kDocumentJs}},
    {"/figure.js", kScript, {kFigureJs, sizeof kFigureJs}},
    {"/history.js", kScript, {kHistoryJs, sizeof kHistoryJs}},
    {"/link.js", kScript, {kLinkJs, sizeof kLinkJs}},
    {"/class.js", kScript, {kClassJs, sizeof kClassJs}},
};

}  // namespace

const PageFile* find_page_file(std::string_view path) {
  const auto* found = std::find_if(std::begin(kFiles), std::end(kFiles),
                                   [&](const PageFile& file) { return file.path == path; });
  return found == std::end(kFiles) ? nullptr : &*found;
}

}  // namespace headgate
