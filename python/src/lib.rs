//! Python module of Berth.
