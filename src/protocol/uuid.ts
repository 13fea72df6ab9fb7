/**
 * Random bytes for the next UUIDs. One call of `getRandomValues` for each UUID would take longer than all other work
 * for the UUID.
 */
const random = new Uint8Array(11 * 1024);
let used = random.length;

/** The character codes of the hexadecimal digits. */
const HEX = Uint8Array.from('0123456789abcdef', (digit) => digit.charCodeAt(0));
const DASH = 45;
const VERSION = HEX[7]!;

/**
 * Makes a time-ordered UUID (version 7). It works in Node and in browsers, and is faster than `randomUUIDv7` of
 * node:crypto, which joins many short strings.
 *
 * The UUID consists of the time in milliseconds (48 bits), the version, 12 random bits, the variant, and 62 random
 * bits.
 */
export function uuidv7(): string {
  if (used === random.length) {
    crypto.getRandomValues(random);
    used = 0;
  }
  const at = used;
  used += 11;
  const now = Date.now();
  const high = Math.floor(now / 65536);
  const low = now % 65536;
  return String.fromCharCode(
    digit(high >>> 28),
    digit(high >>> 24),
    digit(high >>> 20),
    digit(high >>> 16),
    digit(high >>> 12),
    digit(high >>> 8),
    digit(high >>> 4),
    digit(high),
    DASH,
    digit(low >>> 12),
    digit(low >>> 8),
    digit(low >>> 4),
    digit(low),
    DASH,
    VERSION,
    digit(random[at]!),
    digit(random[at + 1]! >>> 4),
    digit(random[at + 1]!),
    DASH,
    // The variant is the two bits 10.
    HEX[8 | (random[at + 2]! & 3)]!,
    digit(random[at + 3]! >>> 4),
    digit(random[at + 3]!),
    digit(random[at + 4]! >>> 4),
    DASH,
    digit(random[at + 5]! >>> 4),
    digit(random[at + 5]!),
    digit(random[at + 6]! >>> 4),
    digit(random[at + 6]!),
    digit(random[at + 7]! >>> 4),
    digit(random[at + 7]!),
    digit(random[at + 8]! >>> 4),
    digit(random[at + 8]!),
    digit(random[at + 9]! >>> 4),
    digit(random[at + 9]!),
    digit(random[at + 10]! >>> 4),
    digit(random[at + 10]!),
  );
}

/** Returns the character code of the last hexadecimal digit of a number. */
function digit(number: number): number {
  return HEX[number & 15]!;
}
