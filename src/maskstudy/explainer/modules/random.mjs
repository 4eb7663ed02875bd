// Chance that is the same for the same seed.

/** Numbers between 0 and 1 (xorshift; Marsaglia 2003, "Xorshift RNGs"). */
export function generator(seed) {
  let held = (seed * 2654435761) >>> 0 || 1;
  return () => {
    held ^= held << 13;
    held >>>= 0;
    held ^= held >>> 17;
    held ^= held << 5;
    held >>>= 0;
    return held / 2 ** 32;
  };
}

/** A number of the normal distribution (Box and Muller 1958). */
export function normal(draw) {
  return Math.sqrt(-2 * Math.log(draw() || Number.MIN_VALUE)) * Math.cos(2 * Math.PI * draw());
}
