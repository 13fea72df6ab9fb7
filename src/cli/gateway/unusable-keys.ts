/** What is wrong with keys that the register has and this process cannot check. */
export function unusableKeys(count: number): string {
  const which = count === 1 ? 'a key of this register was' : `${count} keys of this register were`;
  return `${which} made under another PARLEY_SECRET_KEY`;
}
