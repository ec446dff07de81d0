#include "hamlyn/protocols/loan.h"

#include <limits>
#include <vector>

#include "c/handles.h"
#include "c/values.h"
#include "hamlyn/c/loan.h"

using namespace hamlyn::c;

struct hamlyn_loan_pool : Handle<hamlyn::LoanPool, Uses> {
  using Handle::Handle;
};
struct hamlyn_loan : Handle<hamlyn::Loan> {
  explicit hamlyn_loan(hamlyn_loan_pool& of) : Handle(of.uses), pool(of.it) {}
  hamlyn::LoanPool& pool;
};
struct hamlyn_loan_sender : Handle<hamlyn::LoanSender> {
  using Handle::Handle;
};
struct hamlyn_loan_receiver : Handle<hamlyn::LoanReceiver> {
  using Handle::Handle;
};
struct hamlyn_borrowed : Handle<hamlyn::Borrowed> {
  using Handle::Handle;
};

// --- what is lent

hamlyn_status hamlyn_loan_pool_make(hamlyn_manager* manager, const hamlyn_loan_class* classes,
                                    std::size_t count, hamlyn_loan_pool** made) {
  if (manager == nullptr || made == nullptr || (classes == nullptr && count != 0))
    return invalid_argument(__func__, "a NULL argument");
  return guarded(__func__, [&] {
    constexpr std::size_t kMostClasses = 8;
    std::vector<hamlyn::LoanClass> all;
    for (std::size_t i = 0; i != count; ++i) {
      if (i == kMostClasses || classes[i].count > std::numeric_limits<std::uint32_t>::max())
        return invalid_argument("hamlyn_loan_pool_make", "too many classes, or buffers");
      all.push_back({classes[i].bytes, static_cast<std::uint32_t>(classes[i].count)});
    }
    *made = new hamlyn_loan_pool(manager->uses, manager->it, all);
    return hamlyn_status{HAMLYN_OK};
  });
}

hamlyn_status hamlyn_loan_pool_free(hamlyn_loan_pool* pool) { return free_handle(__func__, pool); }

hamlyn_status hamlyn_loan_pool_revoke(hamlyn_loan_pool* pool) {
  return answer(__func__, {pool}, [&] { pool->it.revoke(); });
}

hamlyn_status hamlyn_loan_make(hamlyn_loan_pool* pool, hamlyn_loan** made) {
  if (pool == nullptr || made == nullptr) return invalid_argument(__func__, "a NULL argument");
  return make(__func__, made, *pool);
}

hamlyn_status hamlyn_loan_free(hamlyn_loan* loan) { return free_handle(__func__, loan); }

hamlyn_status hamlyn_loan_take(hamlyn_loan* loan, std::size_t bytes, std::int64_t timeout, void** data) {
  return answer(__func__, {loan, data}, [&] {
    const hamlyn::Status status =
        timeout == 0 ? loan->pool.take(bytes, loan->it) : loan->pool.take(bytes, loan->it, time_of(timeout));
    if (status == hamlyn::Status::ok) *data = loan->it.bytes().data();
    return status;
  });
}

hamlyn_status hamlyn_loan_holders(const hamlyn_loan* loan, std::uint32_t* holders) {
  return answer(__func__, {loan, holders}, [&] { *holders = loan->it ? loan->it.holders() : 0; });
}

hamlyn_status hamlyn_loan_withdraw(hamlyn_loan* loan) {
  return answer(__func__, {loan}, [&] {
    if (loan->it) loan->it.withdraw();
  });
}

hamlyn_status hamlyn_loan_let_go(hamlyn_loan* loan) {
  return answer(__func__, {loan}, [&] { loan->it.let_go(); });
}

hamlyn_status hamlyn_loan_sender_begin(hamlyn_loan_pool* pool, const hamlyn_seed* seed,
                                       hamlyn_loan_sender** made) {
  if (pool == nullptr || seed == nullptr || made == nullptr)
    return invalid_argument(__func__, "a NULL argument");
  return make(__func__, made, pool->uses, pool->it, from(*seed), hamlyn::kBegin);
}

hamlyn_status hamlyn_loan_sender_open(hamlyn_loan_sender* sender, std::int64_t timeout) {
  return answer(__func__, {sender}, [&] { sender->it.open(time_of(timeout)); });
}

hamlyn_status hamlyn_loan_sender_free(hamlyn_loan_sender* sender) { return free_handle(__func__, sender); }

hamlyn_status hamlyn_loan_send(hamlyn_loan_sender* sender, const hamlyn_loan* loan, std::size_t length,
                               std::int64_t timeout) {
  return answer(__func__, {sender, loan}, [&] {
    if (!loan->it) return hamlyn::Status::invalid;
    return timeout == 0 ? sender->it.send(loan->it, length)
                        : sender->it.send(loan->it, length, time_of(timeout));
  });
}

hamlyn_status hamlyn_loan_end(const hamlyn_loan_sender* sender) {
  return answer(__func__, {sender}, [&] { return sender->it.end(); });
}

// --- what is borrowed

hamlyn_status hamlyn_loan_receiver_make(hamlyn_manager* manager, hamlyn_loan_receiver** made) {
  if (manager == nullptr || made == nullptr) return invalid_argument(__func__, "a NULL argument");
  return make(__func__, made, manager->uses, manager->it);
}

hamlyn_status hamlyn_loan_receiver_free(hamlyn_loan_receiver* receiver) {
  return free_handle(__func__, receiver);
}

hamlyn_status hamlyn_loan_make_seed(hamlyn_loan_receiver* receiver, hamlyn_seed* seed) {
  return answer(__func__, {receiver, seed}, [&] { *seed = to(receiver->it.make_seed()); });
}

hamlyn_status hamlyn_loan_sender_of(const hamlyn_loan_receiver* receiver, std::uint64_t* sender) {
  return answer(__func__, {receiver, sender}, [&] { *sender = receiver->it.sender(); });
}

hamlyn_status hamlyn_loan_descriptor(hamlyn_loan_receiver* receiver, int* descriptor) {
  return answer(__func__, {receiver, descriptor}, [&] { *descriptor = receiver->it.descriptor(); });
}

hamlyn_status hamlyn_borrowed_make(hamlyn_manager* manager, hamlyn_borrowed** made) {
  if (manager == nullptr || made == nullptr) return invalid_argument(__func__, "a NULL argument");
  return make(__func__, made, manager->uses);
}

hamlyn_status hamlyn_borrowed_free(hamlyn_borrowed* borrowed) { return free_handle(__func__, borrowed); }

hamlyn_status hamlyn_loan_receive(hamlyn_loan_receiver* receiver, hamlyn_borrowed* borrowed,
                                  std::int64_t timeout, const void** data, std::size_t* length) {
  return answer(__func__, {receiver, borrowed, data, length}, [&] {
    const hamlyn::Status status = receiver->it.receive(borrowed->it, time_of(timeout));
    if (status == hamlyn::Status::ok) {
      *data = borrowed->it.bytes().data();
      *length = borrowed->it.bytes().size();
    }
    return status;
  });
}

hamlyn_status hamlyn_borrowed_current(const hamlyn_borrowed* borrowed, int* current) {
  return answer(__func__, {borrowed, current},
                [&] { *current = borrowed->it && borrowed->it.current() ? 1 : 0; });
}

hamlyn_status hamlyn_borrowed_give_back(hamlyn_borrowed* borrowed) {
  return answer(__func__, {borrowed}, [&] { borrowed->it.give_back(); });
}
