// The bar code that is painted into each picture: 24 bits of the frame's number and 16 bits of a
// checksum, once at the top and once at the bottom, black and white squares of 32 pixels.
//
// The functions are also sent to the page as text, so they use nothing but each other.

/** Pixels of a picture. */
export const WIDTH = 1280;
export const HEIGHT = 720;

/** CRC-16/CCITT of a number of 24 bits. */
export function checksum(number) {
  let crc = 0xffff;
  for (const byte of [(number >> 16) & 255, (number >> 8) & 255, number & 255]) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : (crc << 1) & 0xffff;
  }
  return crc;
}

/** The 40 squares of a number: 0 is black, 255 white. */
export function squares(number) {
  const bits = number.toString(2).padStart(24, '0') + checksum(number).toString(2).padStart(16, '0');
  return Uint8Array.from(bits, (bit) => (bit === '1' ? 255 : 0));
}

/** The number painted in the squares whose top row of pixels is `top`; -1: they cannot be read. */
export function readSquares(luma, stride, top) {
  let number = 0;
  let crc = 0;
  for (let square = 0; square < 40; square++) {
    let sum = 0;
    for (let y = top + 8; y < top + 24; y += 4) {
      for (let x = square * 32 + 8; x < square * 32 + 24; x += 4) sum += luma[y * stride + x];
    }
    const mean = sum / 16;
    if (mean > 80 && mean < 170) return -1;
    const bit = mean >= 170 ? 1 : 0;
    if (square < 24) number = (number << 1) | bit;
    else crc = (crc << 1) | bit;
  }
  return crc === checksum(number) ? number : -1;
}

/** A hash of every eighth row of a picture's luma, for comparison with the picture that was encoded. */
export function hashPicture(luma, stride, width, height) {
  let hash = 0x811c9dc5;
  for (let y = 0; y < height; y += 8) {
    const row = luma.subarray(y * stride, y * stride + width);
    for (let x = 0; x < width; x += 2) hash = Math.imul(hash ^ (row[x] | (row[x + 1] << 8)), 0x01000193);
  }
  return hash >>> 0;
}

/** The number and the hash of a picture; the number is -1 where the two bar codes differ or cannot be read. */
export function readPicture(luma, stride, width, height) {
  const number = readSquares(luma, stride, 0);
  const whole = number >= 0 && number === readSquares(luma, stride, height - 32);
  return { number: whole ? number : -1, hash: hashPicture(luma, stride, width, height) };
}

/** The functions above as a script. */
export const script = [checksum, readSquares, hashPicture, readPicture].map(String).join('\n');
