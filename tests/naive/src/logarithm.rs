//! The natural logarithm with the bits of Go's `math.Log`.

/// `ln x` of a finite `x >= 1`, step by step as in Go's `src/math/log.go`.
#[allow(
    clippy::excessive_precision,
    clippy::many_single_char_names,
    reason = "constants and names as in Go"
)]
pub fn ln(x: f64) -> f64 {
    const LN2_HI: f64 = 6.931_471_803_691_238_164_90e-01;
    const LN2_LO: f64 = 1.908_214_929_270_587_700_02e-10;
    const L1: f64 = 6.666_666_666_666_735_130e-01;
    const L2: f64 = 3.999_999_999_940_941_908e-01;
    const L3: f64 = 2.857_142_874_366_239_149e-01;
    const L4: f64 = 2.222_219_843_214_978_396e-01;
    const L5: f64 = 1.818_357_216_161_805_012e-01;
    const L6: f64 = 1.531_383_769_920_937_332e-01;
    const L7: f64 = 1.479_819_860_511_658_591e-01;

    // x = m * 2^e with 1/2 <= m < 1, moved so that sqrt(1/2) <= m < sqrt(2).
    let bits = x.to_bits();
    let mut e = ((bits >> 52) & 0x7ff) as i32 - 1022;
    let mut m = f64::from_bits(bits & !(0x7ff << 52) | (1022 << 52));
    if m < std::f64::consts::FRAC_1_SQRT_2 {
        m *= 2.0;
        e -= 1;
    }
    let f = m - 1.0;
    let k = f64::from(e);

    let s = f / (2.0 + f);
    let s2 = s * s;
    let s4 = s2 * s2;
    let t1 = s2 * (L1 + s4 * (L3 + s4 * (L5 + s4 * L7)));
    let t2 = s4 * (L2 + s4 * (L4 + s4 * L6));
    let r = t1 + t2;
    let half_square = 0.5 * f * f;
    k * LN2_HI - ((half_square - (s * (half_square + r) + k * LN2_LO)) - f)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_the_bits_of_go_where_other_libraries_differ() {
        for (x, bits) in [
            (2.0, 0x3fe6_2e42_fefa_39ef),
            (3.0, 0x3ff1_93ea_7aad_030a),
            (14.0, 0x4005_1cca_16d7_bba8),
            (48.0, 0x400e_f838_3c50_bb74),
            (74.0, 0x4011_375c_d6fc_ab1c),
            (5002.0, 0x4021_0901_f6dc_84b9),
        ] {
            assert_eq!(ln(x).to_bits(), bits, "ln {x}");
        }
    }

    /// FNV-1a over the words that Go 1.26 gives on amd64.
    #[test]
    fn has_the_bits_of_go_for_every_number_of_domains() {
        let hash = (2..=300_000_u32).fold(0xcbf2_9ce4_8422_2325_u64, |hash, x| {
            (hash ^ ln(x.into()).to_bits()).wrapping_mul(0x0100_0000_01b3)
        });
        assert_eq!(hash, 0x11d3_f61b_9383_b5c3);
    }
}
