// Random numbers that a seed determines, so that a failure can be repeated.

/** xorshift32: a function that returns a number from 0 to 1. */
export const random = (seed) => {
    let state = seed | 0 || 1;
    return () => {
        state ^= state << 13;
        state ^= state >>> 17;
        state ^= state << 5;
        return (state >>> 0) / 2 ** 32;
    };
};

/** Bytes of this length. */
export const bytes = (next, length) => Uint8Array.from({ length }, () => next() * 256);

/** The same in each run, unless the environment has another one. It is printed with what fails. */
export const seed = Number(process.env.WEFTLINE_SEED ?? 1);
