#include "supervise/sandbox.h"

#include <utility>

namespace native_runner {

void Sandbox::Receive() {
  while (!control_closed_) {
    Report report;
    Descriptor pidfd;
    switch (control_.Receive(&report, &pidfd)) {
      case Control::Received::kNothing:
        return;
      case Control::Received::kClosed:
        control_closed_ = true;
        control_poll_.Stop();
        return;
      case Control::Received::kReport:
        if (pidfd.valid()) launcher_ = std::move(pidfd);
        NoteReport(report);
        user_->OnReport(report);
    }
  }
}

}  // namespace native_runner
