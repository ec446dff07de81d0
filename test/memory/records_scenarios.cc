// Records that others read while they change, and memory that its owner leaves: what was read is whole, and
// what was stored is not lost unseen.
#include "base/byte_order.h"
#include "base/generation.h"
#include "hamlyn/segment/versioned.h"
#include "interface/remote/call_word.h"
#include "segment/record_words.h"
#include "segment/registry_words.h"
#include "test/memory/explored.h"
#include "test/memory/scenarios.h"

namespace hamlyn::test {

namespace {

using Generation = base::Generation<Explored>;
using RegistryWords = segment::RegistryWords<Explored>;
using Reports = std::vector<std::vector<std::uint64_t>>;

// --- versioned records

using RecordWords = segment::RecordWords<Explored>;

struct Twice {
  std::uint64_t first, second;
};
using Record = Versioned<Twice>;

// As OwnVersioned has it.
void write(std::uint64_t* to, std::uint64_t version) {
  const Record record = Record::of({version, version}, version);
  RecordWords::write(reinterpret_cast<std::byte*>(to), reinterpret_cast<const std::byte*>(&record),
                     sizeof record);
}

std::string versioned(Model model) {
  struct Shared {
    std::uint64_t record[4] = {};
    std::uint64_t before = 0;  // written before the second version
  };
  static Shared shared;
  shared = Shared{};
  Explorer explorer(bytes_of(shared), model);
  explorer.add([] {
    write(shared.record, 1);
    Explorer::store(&shared.before, 7, sizeof shared.before, Order::plain);
    write(shared.record, 2);
  });
  explorer.add([] {
    Record record;
    RecordWords::read(reinterpret_cast<std::byte*>(&record),
                      reinterpret_cast<const std::byte*>(shared.record), sizeof record);
    if (!record.whole()) return;
    Explorer::report(record.value.first == record.version && record.value.second == record.version);
    if (record.version == 2)
      Explorer::report(Explorer::load(&shared.before, sizeof shared.before, Order::plain) == 7);
  });
  return explorer.explore([](const Reports& reports) -> std::string {
    for (const std::uint64_t good : reports[1]) {
      if (good == 0) return "a record of two moments";
    }
    return {};
  });
}

// --- a registry's records

struct Bucket {
  std::uint64_t check = 0, version = 0, name = 0, ticket = 0;

  std::uint64_t sum() const { return ((version * 31 + name) * 31 + ticket) * 31 + 5; }
};
// As Registry::store has it.
void change(Bucket& there, std::uint64_t version) {
  Bucket bucket{0, version, version + 10, version + 20};
  bucket.check = bucket.sum();
  auto* const at = reinterpret_cast<std::byte*>(&there);
  const auto* const from = reinterpret_cast<const std::byte*>(&bucket);
  RegistryWords::store(at + 8, version - 1);
  RegistryWords::store(at + 16, from + 16, 16);
  RegistryWords::store(at, from, 16);
}

// Whoever has the number of a change finds the change, or finds that the bucket changes.
std::string registry(Model model) {
  struct Shared {
    std::uint64_t changes = 0;
    Bucket bucket;
  };
  static Shared shared;
  shared = Shared{};
  shared.bucket.check = shared.bucket.sum();
  Explorer explorer(bytes_of(shared), model);
  explorer.add([] {
    for (std::uint64_t changes = 1; changes <= 2; ++changes) {
      change(shared.bucket, 2 * changes);
      RegistryWords::count_change(reinterpret_cast<std::byte*>(&shared.changes), changes);
    }
  });
  explorer.add([] {
    const std::uint64_t changes = Explored::load_relaxed(shared.changes);
    Explored::fence();  // the reply with it, and the request for the bucket
    Bucket copy;
    copy.ticket = Explored::load_relaxed(shared.bucket.ticket);  // in any order
    copy.version = Explored::load_relaxed(shared.bucket.version);
    copy.name = Explored::load_relaxed(shared.bucket.name);
    copy.check = Explored::load_relaxed(shared.bucket.check);
    if (copy.check != copy.sum()) return;
    Explorer::report(
        copy.version % 2 == 0 && copy.version >= 2 * changes &&
        (copy.version == 0 || (copy.name == copy.version + 10 && copy.ticket == copy.version + 20)));
  });
  return explorer.explore([](const Reports& reports) -> std::string {
    return !reports[1].empty() && reports[1][0] == 0 ? "a bucket that never was, or is no longer" : "";
  });
}

// --- revocation

// The owner moves on to other memory; somebody who stores asks afterwards whether that counts.
std::string revocation(Model model) {
  struct Shared {
    std::uint64_t generation = 1, there = 0;
  };
  static Shared shared;
  shared = Shared{};
  Explorer explorer(bytes_of(shared), model);
  explorer.add([] {
    std::uint64_t number = 1;
    Generation::move(shared.generation, number);
    Explorer::report(Explored::load_relaxed(shared.there));  // its copy
  });
  explorer.add([] {
    Explored::store_relaxed(shared.there, std::uint64_t{7});
    Generation::stored();
    Explorer::report(Explored::load_relaxed(shared.generation));
  });
  return explorer.explore([](const Reports& reports) -> std::string {
    return reports[0][0] != 7 && reports[1][0] == 1 ? "lost, and nobody knows" : "";
  });
}

// --- call words

// Another process stores twice, the first of which is not what the owner waits for. Each call is a packet, on
// whose count the owner sleeps.
std::string call_word(Model model) {
  struct Shared {
    std::uint64_t stored = 0, call = 0;
    std::uint32_t packets = 0;
  };
  static Shared shared;
  shared = Shared{};
  Explorer explorer(bytes_of(shared), model);
  explorer.add([] {
    std::uint64_t last = 0;
    for (std::uint64_t value = 1; value <= 2; ++value) {
      Explored::store_relaxed(shared.stored, value);
      std::uint64_t now = 0;
      if (!interface::called_for<Explored>(shared.call, last, now)) continue;
      last = now;
      Explored::store_relaxed(shared.packets, Explored::load_relaxed(shared.packets) + 1);
      Explorer::wake(shared.packets);
    }
  });
  explorer.add([] {
    interface::CallWord<Explored> call(shared.call);
    std::uint32_t taken = Explored::load_relaxed(shared.packets);
    call.begin();
    while (Explored::load_relaxed(shared.stored) != 2) {
      Explorer::sleep_while(shared.packets, taken);
      taken = Explored::load_relaxed(shared.packets);
      call.renew();
    }
    call.end();
  });
  return explorer.explore([](const Reports&) -> std::string { return {}; });
}

}  // namespace

std::vector<Scenario> record_scenarios() {
  return {
      {"versioned", versioned}, {"registry", registry}, {"revocation", revocation}, {"call_word", call_word}};
}

}  // namespace hamlyn::test
