import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Chain, ChainLinks } from './chains.ts';

function walk(chain: Chain, links: ChainLinks): number[] {
  const numbers: number[] = [];
  for (let at = chain.newest; at !== undefined; at = Chain.older(links, at)) numbers.push(at);
  return numbers;
}

test('a chain is in the order in which numbers were put in front, whatever was taken out', () => {
  const numbers = fc.array(fc.nat({ max: 1000 }), { maxLength: 200 });
  fc.assert(
    fc.property(numbers, (moves) => {
      const [links, chain] = [new ChainLinks(), new Chain()];
      let model: number[] = [];
      for (const number of moves) {
        if (model.includes(number)) {
          chain.remove(links, number);
          model = model.filter((each) => each !== number);
        } else {
          chain.add(links, number);
          model = [number, ...model];
        }
        assert.deepEqual(walk(chain, links), model);
        assert.equal(chain.size, model.length);
        assert.equal(chain.oldest, model.at(-1));
      }
    }),
  );
});

test('chains that share their links do not disturb each other', () => {
  const links = new ChainLinks();
  const [odd, even] = [new Chain(), new Chain()];
  for (let number = 0; number < 1000; number++) (number % 2 ? odd : even).add(links, number);
  for (let number = 0; number < 1000; number += 4) even.remove(links, number);
  assert.deepEqual(walk(even, links).slice(0, 3), [998, 994, 990]);
  assert.equal(walk(odd, links).length, 500);
});
