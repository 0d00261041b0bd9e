#include "control/pcapng_writer.hpp"

#include <gtest/gtest.h>
#include <pcap/pcap.h>

#include <cstdio>
#include <memory>

#include "support/packet_builder.hpp"
#include "support/pcapng_reader.hpp"

namespace headgate {
namespace {

constexpr std::uint64_t kTime = 1'700'000'000'123'456'789;  // nanoseconds since 1970

std::vector<std::byte> frame_of(std::size_t bytes) {
  return PacketBuilder().ipv4("10.0.0.1", "10.0.0.2").udp(4000, 53).frame_size(bytes).build();
}

std::string text_of(const std::vector<std::byte>& frame) {
  return {reinterpret_cast<const char*>(frame.data()), frame.size()};
}

std::string trace_of_three() {
  std::string out;
  PcapngWriter writer(out);
  writer.section_header("headgate");
  writer.interface("eth0/egress/dns received", "");
  writer.interface("eth0/egress/dns dropped", "what is dropped");
  // All four lengths of padding occur, of frames and of comments.
  writer.packet(0, kTime, frame_of(60), 60, "received");
  writer.packet(1, kTime + 1, frame_of(61), 61, "dropped: queue_full");
  writer.packet(1, kTime + 2, frame_of(1514), 1600, "dropped: clipped!!");
  writer.packet(0, kTime + 3, frame_of(63), 63, "");
  return out;
}

TEST(PcapngWriter, WritesWhatTheSpecificationSays) {
  std::string out = trace_of_three();
  PcapngWriter(out).statistics(1, kTime + 4, 5'000'000'000);
  const PcapngTrace trace = PcapngReader(out).read();
  EXPECT_EQ(trace.application, "headgate");
  ASSERT_EQ(trace.interfaces.size(), 2u);
  EXPECT_EQ(trace.interfaces[0].name, "eth0/egress/dns received");
  EXPECT_EQ(trace.interfaces[1].name, "eth0/egress/dns dropped");
  EXPECT_EQ(trace.interfaces[1].link_type, DLT_EN10MB);
  EXPECT_EQ(trace.interfaces[1].resolution, 9);
  ASSERT_EQ(trace.packets.size(), 4u);
  EXPECT_EQ(trace.packets[0].comment, "received");
  EXPECT_EQ(trace.packets[1].comment, "dropped: queue_full");
  EXPECT_EQ(trace.packets[1].interface, 1u);
  EXPECT_EQ(trace.packets[1].time, kTime + 1);
  EXPECT_EQ(trace.packets[2].wire_length, 1600u);
  EXPECT_EQ(trace.packets[2].frame, text_of(frame_of(1514)));
  EXPECT_EQ(trace.packets[3].comment, "");
  EXPECT_EQ(trace.dropped.at(1), 5'000'000'000u);
}

TEST(PcapngWriter, IsReadByLibpcapToTheNanosecond) {
  std::string out = trace_of_three();
  PcapngWriter(out).statistics(0, kTime, 7);  // passed over by libpcap
  PcapngWriter(out).packet(0, kTime + 4, frame_of(64), 64, "received");
  std::FILE* file = fmemopen(out.data(), out.size(), "rb");
  char error[PCAP_ERRBUF_SIZE] = "";
  pcap_t* trace = pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, error);
  ASSERT_NE(trace, nullptr) << error;
  EXPECT_EQ(pcap_datalink(trace), DLT_EN10MB);
  const std::size_t captured[] = {60, 61, 1514, 63, 64};
  const std::size_t wire[] = {60, 61, 1600, 63, 64};
  for (std::uint64_t i = 0; i < 5; ++i) {
    pcap_pkthdr* header = nullptr;
    const u_char* bytes = nullptr;
    ASSERT_EQ(pcap_next_ex(trace, &header, &bytes), 1) << pcap_geterr(trace);
    EXPECT_EQ(header->ts.tv_sec, 1'700'000'000);
    EXPECT_EQ(static_cast<std::uint64_t>(header->ts.tv_usec), 123'456'789 + i);
    EXPECT_EQ(header->caplen, captured[i]);
    EXPECT_EQ(header->len, wire[i]);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes), header->caplen),
              text_of(frame_of(captured[i])));
  }
  pcap_pkthdr* header = nullptr;
  const u_char* bytes = nullptr;
  EXPECT_EQ(pcap_next_ex(trace, &header, &bytes), PCAP_ERROR_BREAK) << "the end of the file";
  pcap_close(trace);
}

}  // namespace
}  // namespace headgate
