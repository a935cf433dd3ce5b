//! C ABI of Berth.
