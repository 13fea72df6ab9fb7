/** The order in which candidates are tried: the first is drawn at random by weight, the others follow by weight. */
export function ordered<Item extends { readonly weight: number }>(
  candidates: readonly Item[],
  random: () => number,
): Item[] {
  const byWeight = candidates.toSorted((a, b) => b.weight - a.weight);
  const total = byWeight.reduce((sum, { weight }) => sum + weight, 0);
  let point = random() * total;
  const at = byWeight.findIndex(({ weight }) => (point -= weight) < 0);
  // -1 if all weights are 0, or by a rounding error: take the first.
  const [first] = byWeight.splice(Math.max(0, at), 1);
  return first === undefined ? [] : [first, ...byWeight];
}
