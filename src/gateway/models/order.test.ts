import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ordered } from './order.ts';

/** The same numbers each time: a linear congruential generator. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const places = fc.array(
  fc.record({ weight: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1000, noNaN: true })) }),
  { maxLength: 16 },
);
const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

test('every place is asked once, and behind the first they go by weight', () => {
  fc.assert(
    fc.property(places, chance, (given, random) => {
      const order = ordered(given, () => random);
      assert.equal(new Set(order).size, given.length);
      const rest = order.slice(1).map(({ weight }) => weight);
      assert.deepEqual(
        rest,
        rest.toSorted((a, b) => b - a),
      );
    }),
  );
});

test('a place without weight is never first while there is one with', () => {
  fc.assert(
    fc.property(places, chance, (given, random) => {
      const [first] = ordered(given, () => random);
      if (given.some(({ weight }) => weight > 0)) assert((first?.weight ?? 0) > 0);
    }),
  );
});

test('each is first as often as its weight says', () => {
  const random = seeded(7);
  const given = [{ weight: 6 }, { weight: 3 }, { weight: 1 }];
  const tries = 20_000;
  const firsts = given.map(() => 0);
  for (let count = 0; count < tries; count++) {
    const [first] = ordered(given, random);
    const at = given.findIndex((place) => place === first);
    firsts[at] = (firsts[at] ?? 0) + 1;
  }
  for (const [at, { weight }] of given.entries()) {
    const expected = (tries * weight) / 10;
    // Five standard deviations.
    const bound = 5 * Math.sqrt(expected * (1 - weight / 10));
    assert(Math.abs((firsts[at] ?? 0) - expected) < bound, `${firsts.join()} of ${tries}`);
  }
});
