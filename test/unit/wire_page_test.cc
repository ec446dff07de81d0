// The tables of docs/wire.md that have a structure's own field names are the structure: each field at its
// offset and with its size, and nothing between them.
#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "am/am_wire.h"
#include "fabric/ofi/frame.h"
#include "fabric/shm/layout.h"
#include "files/areas.h"
#include "hamlyn/core/bulk.h"
#include "interface/counters.h"
#include "interface/packets/packet.h"
#include "library/control/link_message.h"
#include "node/client/protocol.h"
#include "node/mind/node_wire.h"
#include "rpc/rpc_wire.h"
#include "segment/clerk_wire.h"
#include "segment/registry.h"
#include "splitc/splitc_wire.h"
#include "splitc/vi/message.h"
#include "tool/transfer_wire.h"
#include "vi/vi_wire.h"

namespace hamlyn::test {
namespace {

struct Field {
  std::string name;
  std::size_t offset;
  std::size_t size;
  bool operator==(const Field&) const = default;
};

struct Structure {
  std::string name;
  std::size_t size;
  std::vector<Field> fields;
};

void PrintTo(const Field& field, std::ostream* out) {
  *out << field.offset << ' ' << field.size << ' ' << field.name;
}

std::vector<Structure> structures() {
#define FIELD(structure, field) \
  Field { #field, offsetof(structure, field), sizeof(structure::field) }
  return {
      {"node::Hello",
       sizeof(node::Hello),
       {FIELD(node::Hello, magic), FIELD(node::Hello, protocol), FIELD(node::Hello, structures),
        FIELD(node::Hello, flags), FIELD(node::Hello, interface), FIELD(node::Hello, token)}},
      {"node::Welcome",
       sizeof(node::Welcome),
       {FIELD(node::Welcome, magic), FIELD(node::Welcome, protocol), FIELD(node::Welcome, structures),
        FIELD(node::Welcome, error), FIELD(node::Welcome, interface), FIELD(node::Welcome, token),
        FIELD(node::Welcome, text)}},
      {"node::Request",
       sizeof(node::Request),
       {FIELD(node::Request, kind), FIELD(node::Request, flags), FIELD(node::Request, request),
        FIELD(node::Request, number), FIELD(node::Request, peer), FIELD(node::Request, bytes),
        FIELD(node::Request, name_length), FIELD(node::Request, reserved), FIELD(node::Request, name),
        FIELD(node::Request, ticket), FIELD(node::Request, token), FIELD(node::Request, engine)}},
      {"node::Reply",
       sizeof(node::Reply),
       {FIELD(node::Reply, kind), FIELD(node::Reply, error), FIELD(node::Reply, request),
        FIELD(node::Reply, peer), FIELD(node::Reply, link), FIELD(node::Reply, uid), FIELD(node::Reply, gid),
        FIELD(node::Reply, pid), FIELD(node::Reply, initiator), FIELD(node::Reply, ticket),
        FIELD(node::Reply, token), FIELD(node::Reply, text)}},
      {"node::FarReply",
       sizeof(node::FarReply),
       {FIELD(node::FarReply, kind), FIELD(node::FarReply, initiator), FIELD(node::FarReply, request),
        FIELD(node::FarReply, peer), FIELD(node::FarReply, link), FIELD(node::FarReply, peer_incarnation),
        FIELD(node::FarReply, own_incarnation), FIELD(node::FarReply, uid), FIELD(node::FarReply, gid),
        FIELD(node::FarReply, pid), FIELD(node::FarReply, address_length), FIELD(node::FarReply, engine),
        FIELD(node::FarReply, address), FIELD(node::FarReply, key)}},
      {"node::AttachedReply",
       sizeof(node::AttachedReply),
       {FIELD(node::AttachedReply, kind), FIELD(node::AttachedReply, uid),
        FIELD(node::AttachedReply, request), FIELD(node::AttachedReply, interface),
        FIELD(node::AttachedReply, age_ms), FIELD(node::AttachedReply, links),
        FIELD(node::AttachedReply, link_bytes), FIELD(node::AttachedReply, area_bytes),
        FIELD(node::AttachedReply, refused), FIELD(node::AttachedReply, gid), FIELD(node::AttachedReply, pid),
        FIELD(node::AttachedReply, program)}},
      {"node::MemberReply",
       sizeof(node::MemberReply),
       {FIELD(node::MemberReply, kind), FIELD(node::MemberReply, state), FIELD(node::MemberReply, request),
        FIELD(node::MemberReply, incarnation), FIELD(node::MemberReply, since_ms),
        FIELD(node::MemberReply, refused), FIELD(node::MemberReply, id), FIELD(node::MemberReply, boot),
        FIELD(node::MemberReply, kept_out), FIELD(node::MemberReply, address),
        FIELD(node::MemberReply, changes), FIELD(node::MemberReply, reserved)}},
      {"node::NodeReply",
       sizeof(node::NodeReply),
       {FIELD(node::NodeReply, kind), FIELD(node::NodeReply, more), FIELD(node::NodeReply, request),
        FIELD(node::NodeReply, uptime_ms), FIELD(node::NodeReply, interfaces), FIELD(node::NodeReply, links),
        FIELD(node::NodeReply, names), FIELD(node::NodeReply, malformed), FIELD(node::NodeReply, dropped),
        FIELD(node::NodeReply, refused), FIELD(node::NodeReply, cut), FIELD(node::NodeReply, used),
        FIELD(node::NodeReply, quota), FIELD(node::NodeReply, pid), FIELD(node::NodeReply, uid),
        FIELD(node::NodeReply, version)}},
      {"segment::ClerkMessage",
       sizeof(segment::ClerkMessage),
       {FIELD(segment::ClerkMessage, kind), FIELD(segment::ClerkMessage, node),
        FIELD(segment::ClerkMessage, serial), FIELD(segment::ClerkMessage, registry),
        FIELD(segment::ClerkMessage, table), FIELD(segment::ClerkMessage, buckets),
        FIELD(segment::ClerkMessage, reads), FIELD(segment::ClerkMessage, key),
        FIELD(segment::ClerkMessage, name), FIELD(segment::ClerkMessage, name_length),
        FIELD(segment::ClerkMessage, rights), FIELD(segment::ClerkMessage, ticket),
        FIELD(segment::ClerkMessage, generation), FIELD(segment::ClerkMessage, interface),
        FIELD(segment::ClerkMessage, uid), FIELD(segment::ClerkMessage, gid),
        FIELD(segment::ClerkMessage, pid), FIELD(segment::ClerkMessage, reserved)}},
      {"BulkRingOffer",
       sizeof(BulkRingOffer),
       {FIELD(BulkRingOffer, ticket), FIELD(BulkRingOffer, pieces), FIELD(BulkRingOffer, version)}},
      {"BulkFreed", sizeof(BulkFreed), {FIELD(BulkFreed, pieces), FIELD(BulkFreed, bytes)}},
      {"rpc::Admission",
       sizeof(internal_::rpc::Admission),
       {FIELD(internal_::rpc::Admission, magic), FIELD(internal_::rpc::Admission, version),
        FIELD(internal_::rpc::Admission, session), FIELD(internal_::rpc::Admission, stacks),
        FIELD(internal_::rpc::Admission, stride), FIELD(internal_::rpc::Admission, frame),
        FIELD(internal_::rpc::Admission, slot), FIELD(internal_::rpc::Admission, generation),
        FIELD(internal_::rpc::Admission, key), FIELD(internal_::rpc::Admission, long_slot),
        FIELD(internal_::rpc::Admission, long_generation), FIELD(internal_::rpc::Admission, long_key),
        FIELD(internal_::rpc::Admission, long_bound), FIELD(internal_::rpc::Admission, long_incarnation),
        FIELD(internal_::rpc::Admission, mark)}},
      {"files::AreasHeader",
       sizeof(internal_::files::AreasHeader),
       {FIELD(internal_::files::AreasHeader, magic), FIELD(internal_::files::AreasHeader, version),
        FIELD(internal_::files::AreasHeader, zero), FIELD(internal_::files::AreasHeader, epoch),
        FIELD(internal_::files::AreasHeader, salt), FIELD(internal_::files::AreasHeader, names),
        FIELD(internal_::files::AreasHeader, attributes), FIELD(internal_::files::AreasHeader, links),
        FIELD(internal_::files::AreasHeader, folders), FIELD(internal_::files::AreasHeader, index),
        FIELD(internal_::files::AreasHeader, heads), FIELD(internal_::files::AreasHeader, pages)}},
      {"files::Handle",
       sizeof(internal_::files::Handle),
       {FIELD(internal_::files::Handle, kind), FIELD(internal_::files::Handle, length),
        FIELD(internal_::files::Handle, zero), FIELD(internal_::files::Handle, seal),
        FIELD(internal_::files::Handle, bytes)}},
      {"files::Attributes",
       sizeof(files::Attributes),
       {FIELD(files::Attributes, inode), FIELD(files::Attributes, size), FIELD(files::Attributes, blocks),
        FIELD(files::Attributes, kind), FIELD(files::Attributes, mode), FIELD(files::Attributes, links),
        FIELD(files::Attributes, owner), FIELD(files::Attributes, group), FIELD(files::Attributes, listed),
        FIELD(files::Attributes, read), FIELD(files::Attributes, written),
        FIELD(files::Attributes, changed)}},
      {"files::NameRecord",
       sizeof(internal_::files::NameRecord),
       {FIELD(internal_::files::NameRecord, file), FIELD(internal_::files::NameRecord, length),
        FIELD(internal_::files::NameRecord, text)}},
      {"files::FolderRecord",
       sizeof(internal_::files::FolderRecord),
       {FIELD(internal_::files::FolderRecord, used), FIELD(internal_::files::FolderRecord, last),
        FIELD(internal_::files::FolderRecord, entries)}},
      {"am::Hello",
       sizeof(internal_::am::Hello),
       {FIELD(internal_::am::Hello, version), FIELD(internal_::am::Hello, why),
        FIELD(internal_::am::Hello, credits), FIELD(internal_::am::Hello, way),
        FIELD(internal_::am::Hello, from), FIELD(internal_::am::Hello, to),
        FIELD(internal_::am::Hello, session), FIELD(internal_::am::Hello, ring_bytes),
        FIELD(internal_::am::Hello, door), FIELD(internal_::am::Hello, ring),
        FIELD(internal_::am::Hello, segment), FIELD(internal_::am::Hello, proof)}},
      {"vi::Message",
       sizeof(internal_::vi::Message),
       {FIELD(internal_::vi::Message, version),      FIELD(internal_::vi::Message, say),
        FIELD(internal_::vi::Message, detail),       FIELD(internal_::vi::Message, reliability),
        FIELD(internal_::vi::Message, from),         FIELD(internal_::vi::Message, to),
        FIELD(internal_::vi::Message, from_session), FIELD(internal_::vi::Message, to_session),
        FIELD(internal_::vi::Message, max_transfer), FIELD(internal_::vi::Message, qos),
        FIELD(internal_::vi::Message, handle),       FIELD(internal_::vi::Message, enables),
        FIELD(internal_::vi::Message, address),      FIELD(internal_::vi::Message, length),
        FIELD(internal_::vi::Message, door),         FIELD(internal_::vi::Message, slot),
        FIELD(internal_::vi::Message, own_host),     FIELD(internal_::vi::Message, asked_host),
        FIELD(internal_::vi::Message, own_length),   FIELD(internal_::vi::Message, asked_length),
        FIELD(internal_::vi::Message, reserved),     FIELD(internal_::vi::Message, own),
        FIELD(internal_::vi::Message, asked)}},
      {"splitc::Told",
       sizeof(internal_::splitc::Told),
       {FIELD(internal_::splitc::Told, version), FIELD(internal_::splitc::Told, guarded),
        FIELD(internal_::splitc::Told, over_vi), FIELD(internal_::splitc::Told, credits),
        FIELD(internal_::splitc::Told, heap), FIELD(internal_::splitc::Told, functions),
        FIELD(internal_::splitc::Told, mark), FIELD(internal_::splitc::Told, interface),
        FIELD(internal_::splitc::Told, ticket), FIELD(internal_::splitc::Told, session),
        FIELD(internal_::splitc::Told, door)}},
      {"splitc::Line",
       sizeof(internal_::splitc::Line),
       {FIELD(internal_::splitc::Line, meeting), FIELD(internal_::splitc::Line, doing),
        FIELD(internal_::splitc::Line, piece), FIELD(internal_::splitc::Line, stored),
        FIELD(internal_::splitc::Line, behind)}},
      {"splitc::Request",
       sizeof(internal_::splitc::Request),
       {FIELD(internal_::splitc::Request, number), FIELD(internal_::splitc::Request, function),
        FIELD(internal_::splitc::Request, bytes), FIELD(internal_::splitc::Request, answered),
        FIELD(internal_::splitc::Request, behind), FIELD(internal_::splitc::Request, arguments)}},
      {"splitc::Reply",
       sizeof(internal_::splitc::Reply),
       {FIELD(internal_::splitc::Reply, number), FIELD(internal_::splitc::Reply, done),
        FIELD(internal_::splitc::Reply, bytes), FIELD(internal_::splitc::Reply, result)}},
      {"splitc::Place", sizeof(internal_::splitc::Place), {FIELD(internal_::splitc::Place, place)}},
      {"splitc::Rows",
       sizeof(internal_::splitc::Rows),
       {FIELD(internal_::splitc::Rows, place), FIELD(internal_::splitc::Rows, stride),
        FIELD(internal_::splitc::Rows, chunk), FIELD(internal_::splitc::Rows, count)}},
      {"splitc::WordRequest",
       sizeof(internal_::splitc::WordRequest),
       {FIELD(internal_::splitc::WordRequest, place), FIELD(internal_::splitc::WordRequest, operand),
        FIELD(internal_::splitc::WordRequest, compare), FIELD(internal_::splitc::WordRequest, op),
        FIELD(internal_::splitc::WordRequest, bytes)}},
      {"tool::Greeting",
       sizeof(tool::Greeting),
       {FIELD(tool::Greeting, head), FIELD(tool::Greeting, expected), FIELD(tool::Greeting, verdict)}},
      {"tool::Trailer",
       sizeof(tool::Trailer),
       {FIELD(tool::Trailer, head), FIELD(tool::Trailer, total), FIELD(tool::Trailer, checksum)}},
      {"tool::Verdict",
       sizeof(tool::Verdict),
       {FIELD(tool::Verdict, head), FIELD(tool::Verdict, outcome), FIELD(tool::Verdict, reserved),
        FIELD(tool::Verdict, total), FIELD(tool::Verdict, checksum)}},
  };
#undef FIELD
}

// Those of the page: headings of the third level with a structure's name and size, and the table that
// follows.
std::vector<Structure> tables_of_the_page() {
  std::ifstream page(HAMLYN_SOURCE_DIR "/docs/wire.md");
  const std::regex heading(R"(### `([A-Za-z:]+)` \((\d+) bytes\))");
  const std::regex row(R"(\| (\d+) \| (\d+) \| (\w+) \|.*)");
  std::vector<Structure> found;
  std::smatch parts;
  bool of_structure = false;
  for (std::string line; std::getline(page, line);) {
    if (std::regex_match(line, parts, heading)) {
      found.push_back({parts[1], std::stoul(parts[2]), {}});
      of_structure = true;
    } else if (line.starts_with("## ")) {
      of_structure = false;
    } else if (of_structure && std::regex_match(line, parts, row)) {
      found.back().fields.push_back({parts[3], std::stoul(parts[1]), std::stoul(parts[2])});
    }
  }
  return found;
}

TEST(WirePage, HasEachStructureAsItIs) {
  const std::vector<Structure> code = structures(), page = tables_of_the_page();
  ASSERT_EQ(page.size(), code.size());
  for (std::size_t i = 0; i < code.size(); ++i) {
    EXPECT_EQ(page[i].name, code[i].name);
    EXPECT_EQ(page[i].size, code[i].size) << code[i].name;
    EXPECT_EQ(page[i].fields, code[i].fields) << code[i].name;
    std::size_t end = 0;
    for (const Field& field : code[i].fields) {
      EXPECT_EQ(field.offset, end) << code[i].name << ": something stands before " << field.name;
      end = field.offset + field.size;
    }
    EXPECT_EQ(end, code[i].size) << code[i].name << ": something stands behind the last field";
  }
}

// Each version stands on the page once, and is that of the code.
TEST(WirePage, SaysWhichVersionsThereAre) {
  std::ifstream file(HAMLYN_SOURCE_DIR "/docs/wire.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const std::pair<std::string, std::uint32_t> versions[] = {
      {"| 8 | 2 | structures | version, {} |", shm::kPageVersion},
      {"| 4 | 2 | version | {} |", library::kLinkVersion},
      {"| 4 | 1 | version | {} (", ofi::kFrameVersion},
      {"| 8 | 4 | version | {} |", interface::kCounterVersion},
      {"| 4 | 4 | version | {} |\n| 8 | 2 | kind |", node::kClusterVersion},
      {"| 4 | 4 | version | {} |\n| 8 | 8 | generation |", segment::kRegistryVersion},
      {"| 4 | 4 | protocol | {};", node::kProtocolVersion},
      {"| 8 | 4 | structures | {}: of all that two processes share", node::kStructuresVersion},
      {"`HLMx`, version (2 bytes, {})", tool::kVersion},
  };
  for (const auto& [text, version] : versions) {
    const std::size_t gap = text.find("{}");
    const std::string line = text.substr(0, gap) + std::to_string(version) + text.substr(gap + 2);
    const std::size_t found = page.find(line);
    EXPECT_NE(found, std::string::npos) << line;
    EXPECT_EQ(page.find(line, found + 1), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace hamlyn::test
