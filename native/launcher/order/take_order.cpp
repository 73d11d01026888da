#include "launcher/order/take_order.h"

#include <cerrno>

namespace native_runner {

bool TakeOrder(Control& control, ReceivedOrder* received, MappedOrder* order) {
  Refusal refusal;
  switch (control.ReceiveOrder(received)) {
    case Control::Received::kHostGone:
      return false;
    case Control::Received::kInvalid:
      refusal.Because("the launcher was sent something else than an order", -EPROTO);
      break;
    case Control::Received::kOrder:
      if (MapOrder(*received, order, &refusal)) return true;
  }
  control.SendRefused(refusal);
  return false;
}

}  // namespace native_runner
