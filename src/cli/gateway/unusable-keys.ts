/** Returns the reason why this process cannot check some of the keys in the register. */
export function unusableKeys(count: number): string {
  const which = count === 1 ? 'a key in this register was' : `${count} keys in this register were`;
  return `${which} created with another PARLEY_SECRET_KEY or pepper file`;
}
