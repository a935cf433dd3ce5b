//! Numbers drawn from a seed: SplitMix64, the same on every machine.

/// A stream of numbers.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream of a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The stream of one part of a seed: parts do not depend on each other.
    pub fn part(seed: u64, part: u64) -> Self {
        let mut random = Self(seed);
        let base = random.draw();
        Self(base ^ part.wrapping_mul(0xd134_2543_de82_ef95))
    }

    /// The next number.
    pub const fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// A number below `end`; 0 if that is 0.
    pub fn below(&mut self, end: usize) -> usize {
        let drawn = self.draw() >> 11;
        usize::try_from(drawn).unwrap_or(0) % end.max(1)
    }

    /// `true` once in `many` times.
    pub fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    /// `true` in so many of 100 times.
    pub fn percent(&mut self, share: u8) -> bool {
        self.below(100) < usize::from(share)
    }

    /// One of several.
    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        let at = self.below(all.len());
        all.get(at)
    }

    /// One of a list that has some.
    pub fn choose<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}
