//! A number that tells one text from others.

/// The 64-bit hash of what is written to it, by FNV-1a (G. Fowler, L. C. Noll, K.-P. Vo).
pub(in crate::io) struct Digest(u64);

impl Digest {
    pub fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Its sixteen hexadecimal digits.
    pub fn hexadecimal(&self) -> String {
        format!("{:016x}", self.0)
    }
}

impl std::fmt::Write for Digest {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Ok(())
    }
}
