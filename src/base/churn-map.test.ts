import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ChurnMap } from './index.ts';

test('a map keeps its entries in order while thousands of others come and go', () => {
  const map = new ChurnMap<string, number>();
  map.set('first', 1);
  for (let at = 0; at < 5000; at++) {
    map.set(`brief ${at}`, at);
    if (at >= 200) assert.equal(map.delete(`brief ${at - 200}`), true);
  }
  assert.equal(map.size, 201);
  assert.equal(map.get('first'), 1);
  assert.equal(map.has('brief 4799'), false);
  assert.equal(map.delete('brief 4799'), false);
  assert.deepEqual([...map.values()], [1, ...Array.from({ length: 200 }, (_, at) => 4800 + at)]);
});
