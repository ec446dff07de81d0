// Loans: a buffer is used anew when nobody reads it, or whoever does finds out.
#include "protocols/loan_words.h"
#include "test/memory/explored.h"
#include "test/memory/scenarios.h"

namespace hamlyn::test {

namespace {

using LoanWords = protocols::LoanWords<Explored>;
using Reports = std::vector<std::vector<std::uint64_t>>;

struct Loan {
  std::uint32_t number = 1, wanted = 0, returned = 0, data = 0;
};
Loan loan;

// The lender takes the buffer back and uses it anew while it is read.
std::string loan_by_force(Model model) {
  loan = Loan{};
  Explorer explorer(bytes_of(loan), model);
  explorer.add([] {
    LoanWords::show(loan.number, 2, true);
    Explored::store_relaxed(loan.data, std::uint32_t{7});
  });
  explorer.add([] {
    const std::uint32_t data = Explored::load_relaxed(loan.data);
    Explorer::report(LoanWords::current(loan.number, 1) ? data : 0);
  });
  return explorer.explore([](const Reports& reports) -> std::string {
    return reports[1][0] != 0 ? "what came after was taken for the loan" : "";
  });
}

// It is given back, and used anew.
std::string loan_given_back(Model model) {
  loan = Loan{};
  Explorer explorer(bytes_of(loan), model);
  explorer.guard(&loan.data, sizeof loan.data);
  explorer.add([] {
    if (LoanWords::given_back(loan.returned) == 1) Explored::store_relaxed(loan.data, std::uint32_t{7});
  });
  explorer.add([] {
    Explorer::report(Explored::load_relaxed(loan.data));
    LoanWords::give_back(loan.returned, 1, loan.wanted);
  });
  return explorer.explore([](const Reports& reports) -> std::string {
    return reports[1][0] != 0 ? "what came after was taken for the loan" : "";
  });
}

// It is given back while the lender begins to wait for it.
std::string loan_wanted(Model model) {
  loan = Loan{};
  Explorer explorer(bytes_of(loan), model);
  explorer.add([] {
    LoanWords::want(loan.wanted);
    Explorer::report(LoanWords::given_back(loan.returned));
  });
  explorer.add([] { Explorer::report(LoanWords::give_back(loan.returned, 1, loan.wanted)); });
  return explorer.explore([](const Reports& reports) -> std::string {
    return reports[0][0] == 0 && reports[1][0] == 0 ? "given back, and nobody knows" : "";
  });
}

}  // namespace

std::vector<Scenario> loan_scenarios() {
  return {
      {"loan_by_force", loan_by_force}, {"loan_given_back", loan_given_back}, {"loan_wanted", loan_wanted}};
}

}  // namespace hamlyn::test
